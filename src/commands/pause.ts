import * as Flags from '@oclif/core/flags';
import { BaseCommand, type Outcome } from '../cli/base-command.js';
import { connectionFlags, outputFlags } from '../cli/flags.js';
import {
  cleanedRemarks,
  followFlag,
  followWithin,
  interruptedOutcome,
  selectionFlags,
  serviceArg,
  steeringOutcome,
  steeringRequest,
  strategyRemarks,
  unlessCalledOff,
} from '../cli/steering/steering.js';
import { takeOutFlags, takeOutRequest } from '../cli/steering/take-out.js';
import { parseDuration } from '../core/model/duration.js';

export default class Pause extends BaseCommand {
  static override summary = 'Take instances out of rotation, wherever their process runs.';
  static override description =
    'SERVICE is followed by INSTANCE…: an address, an id, a key, zone=a or host=10.0.0.7. Already paused is success.';
  static override usage = 'pause SERVICE INSTANCE… [flags]';
  static override examples = [
    '<%= config.bin %> pause user.rpc 10.0.0.1:8080 --for 15m --reason "kernel update"',
    { description: 'Until Ctrl-C, which resumes them', command: '<%= config.bin %> pause user.rpc zone=a --hold' },
  ];
  static override strict = false;
  static override args = serviceArg;
  static override flags = {
    for: Flags.string({ summary: 'Resume by itself after this long.', helpValue: 'DURATION', exclusive: ['hold'] }),
    hold: Flags.boolean({
      summary: 'Stay, and take out again whatever comes back; Ctrl-C or SIGTERM resumes what this command has paused.',
    }),
    ...selectionFlags,
    ...takeOutFlags,
    ...followFlag,
    ...outputFlags('table', 'json', 'yaml', 'ndjson', 'address'),
    ...connectionFlags,
  };

  protected async perform(): Promise<Outcome | number> {
    const { argv, flags } = await this.parse(Pause);
    const forMs = flags.for === undefined ? undefined : parseDuration(flags.for);
    const takeOut = takeOutRequest(flags);
    const confirmWithinMs = followWithin(flags);
    const { signal, ...request } = steeringRequest(argv, flags, this.lifetime.signal);
    const etcd = await this.connect(flags);
    const { pauseInstances } = await import('../core/operations/pause.js');
    // From the first write on a Ctrl-C leaves something behind, or has something to take back.
    this.lifetime.finishByItself();
    const tell = (line: string) => this.tell(line);
    const verb = flags.hold ? 'hold' : 'pause';
    const pausing = pauseInstances(etcd, {
      ...request,
      ...takeOut,
      // Whoever comes back is taken out again: nothing is to be verified first.
      ...(flags.hold && { verifyMs: 0 }),
      signal,
      onPlan: (planned) => strategyRemarks(planned).forEach(tell),
      verb,
      confirmWithinMs,
      ...(forMs !== undefined && { forMs }),
    });
    const result = await unlessCalledOff(pausing, signal);
    if (!result) return this.lifetime.exitCode;
    cleanedRemarks(result).forEach(tell);
    const outcome = steeringOutcome(result);
    const { holdAndResume, pausedByIt } = await import('../cli/steering/hold-pause.js');
    // Nobody but this command can put back in time what it has masked or deleted itself.
    const timed = result.instances.filter((one) => one.changed && one.strategy !== 'managed');
    const resumable = pausedByIt(result);
    const isPlan = result.outcome === 'planned';
    const out = isPlan ? [] : result.instances.filter(({ state, changed }) => changed || state === 'paused');
    const before = out.filter(({ changed }) => !changed).map(({ address }) => address);
    if (forMs !== undefined && before.length > 0)
      this.tell(`Paused before, and not for ${flags.for}: ${before.join(', ')}.`);
    const held = (flags.hold ? out : forMs === undefined ? [] : timed).map(({ address }) => address);
    if (signal.aborted && held.length === 0) {
      return interruptedOutcome(result, 'resume', { exitCode: this.lifetime.exitCode, tell });
    }
    if (held.length === 0 || (result.error && !signal.aborted)) return outcome;

    if (!signal.aborted) {
      await this.show(outcome);
      const until = flags.hold ? '' : ` for ${flags.for}; a kill -9 of this command leaves them paused`;
      this.tell(`Holding ${held.join(', ')} out of rotation${until}. Ctrl-C resumes.`);
    }
    const hold = { resumable, signal, tell, ...(!flags.hold && { forMs }) };
    const lost = await holdAndResume(etcd, { ...request, strategy: takeOut.strategy, verb }, held, hold);
    return lost ? this.fail(lost) : this.lifetime.exitCode;
  }
}
