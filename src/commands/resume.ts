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
  unlessCalledOff,
} from '../cli/steering/steering.js';

export default class Resume extends BaseCommand {
  static override summary = 'Put paused instances back into rotation.';
  static override description =
    'SERVICE is followed by INSTANCE…: an address, an id, a key, zone=a or host=10.0.0.7. Already up is success.';
  static override usage = 'resume SERVICE INSTANCE… [flags]';
  static override examples = [
    '<%= config.bin %> resume user.rpc 10.0.0.1:8080',
    '<%= config.bin %> resume user.rpc --all',
  ];
  static override strict = false;
  static override args = serviceArg;
  static override flags = {
    ...selectionFlags,
    ...followFlag,
    ...outputFlags('table', 'json', 'yaml', 'ndjson', 'address'),
    ...connectionFlags,
  };

  protected async perform(): Promise<Outcome | number> {
    const { argv, flags } = await this.parse(Resume);
    const confirmWithinMs = followWithin(flags);
    const request = { ...steeringRequest(argv, flags, this.lifetime.signal), confirmWithinMs };
    const etcd = await this.connect(flags);
    const { resumeInstances } = await import('../core/operations/resume.js');
    // What a Ctrl-C leaves behind is told.
    this.lifetime.finishByItself();
    const result = await unlessCalledOff(resumeInstances(etcd, request), request.signal);
    if (!result) return this.lifetime.exitCode;
    const tell = (line: string) => this.tell(line);
    cleanedRemarks(result).forEach(tell);
    if (!request.signal.aborted) return steeringOutcome(result);
    return interruptedOutcome(result, 'pause', { exitCode: this.lifetime.exitCode, tell });
  }
}
