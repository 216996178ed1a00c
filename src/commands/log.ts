import * as Flags from '@oclif/core/flags';
import { BaseCommand, type Outcome } from '../cli/base-command.js';
import { connectionFlags, outputFlags } from '../cli/flags.js';
import { serviceArg } from '../cli/steering/steering.js';

export default class Log extends BaseCommand {
  static override summary = 'Who paused, resumed and drained which instances of a service, when and why.';
  static override description =
    'The last 200 entries of each service are kept in etcd, each written together with what it tells of.';
  static override examples = ['<%= config.bin %> log user.rpc', '<%= config.bin %> log user.rpc -n 5 -o ndjson'];
  static override args = serviceArg;
  static override flags = {
    number: Flags.integer({ char: 'n', summary: 'So many of the latest.', helpValue: 'N', min: 1, default: 20 }),
    ...outputFlags('table', 'json', 'yaml', 'ndjson'),
    ...connectionFlags,
  };

  protected async perform(): Promise<Outcome> {
    const { args, flags } = await this.parse(Log);
    const etcd = await this.connect(flags);
    const { readLog } = await import('../core/operations/log.js');
    const { revision, entries } = await readLog(etcd, args.service, { signal: this.lifetime.signal });
    if (entries.length === 0) this.tell(`Nothing was done to ${args.service} yet: its log is empty.`);
    const { logOutcome } = await import('../cli/log/view.js');
    return logOutcome(args.service, revision, entries.slice(-flags.number));
  }
}
