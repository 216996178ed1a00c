import * as Flags from '@oclif/core/flags';
import { BaseCommand, type Outcome } from '../cli/base-command.js';
import { connectionFlags, outputFlags } from '../cli/flags.js';
import { serviceArg, steeringFlags, steeringOutcome, steeringRequest, whoAmI } from '../cli/steering/steering.js';
import { parseDuration } from '../core/model/duration.js';
import { isLbctlError } from '../core/model/errors.js';

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
    hold: Flags.boolean({ summary: 'Stay; Ctrl-C or SIGTERM resumes what this command has paused.' }),
    reason: Flags.string({ summary: 'Why, for others to see.', helpValue: 'TEXT' }),
    'min-available': Flags.integer({
      summary: 'Refuse when fewer would stay up; 0 lets the last one go.',
      min: 0,
      default: 1,
    }),
    ...steeringFlags,
    ...outputFlags('table', 'json', 'yaml', 'ndjson', 'address'),
    ...connectionFlags,
  };

  protected async perform(): Promise<Outcome | number> {
    const { argv, flags } = await this.parse(Pause);
    const forMs = flags.for === undefined ? undefined : parseDuration(flags.for);
    const { signal, ...request } = steeringRequest(argv, flags, this.lifetime.signal);
    const etcd = await this.connect(flags);
    const { pauseInstances } = await import('../core/operations/pause.js');
    // From the first write on a Ctrl-C has something to take back.
    if (flags.hold) this.lifetime.finishByItself();
    const result = await pauseInstances(etcd, {
      ...request,
      signal,
      by: whoAmI(process.env),
      ...(flags.reason !== undefined && { reason: flags.reason }),
      ...(forMs !== undefined && { forMs }),
      minAvailable: flags['min-available'],
    }).catch((error: unknown) => {
      // Called off before anything was written: no error, but what was asked for.
      if (signal.aborted && isLbctlError(error, 'TIMEOUT')) return null;
      throw error;
    });
    if (!result) return this.lifetime.exitCode;
    const outcome = steeringOutcome(result);
    const { endHold, pausedByIt } = await import('../cli/steering/hold-pause.js');
    const held = pausedByIt(result);
    if (!flags.hold || held.length === 0 || (result.error && !signal.aborted)) return outcome;

    if (!signal.aborted) {
      await this.show(outcome);
      this.tell(`Holding ${held.join(', ')} out of rotation. Ctrl-C resumes.`);
    }
    await this.lifetime.interrupted();
    await endHold(etcd, request, held);
    this.tell(`Resumed ${held.join(', ')}.`);
    return this.lifetime.exitCode;
  }
}
