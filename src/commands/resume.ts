import { BaseCommand, type Outcome } from '../cli/base-command.js';
import { connectionFlags, outputFlags } from '../cli/flags.js';
import {
  followFlag,
  followWithin,
  remarks,
  selectionFlags,
  serviceArg,
  steeringOutcome,
  steeringRequest,
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

  protected async perform(): Promise<Outcome> {
    const { argv, flags } = await this.parse(Resume);
    const confirmWithinMs = followWithin(flags);
    const request = { ...steeringRequest(argv, flags, this.lifetime.signal), confirmWithinMs };
    const etcd = await this.connect(flags);
    const { resumeInstances } = await import('../core/operations/resume.js');
    const result = await resumeInstances(etcd, request);
    for (const line of remarks(result)) this.tell(line);
    return steeringOutcome(result);
  }
}
