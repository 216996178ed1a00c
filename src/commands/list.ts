import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { BaseCommand, type Outcome } from '../cli/base-command.js';
import { connectionFlags, dialectFlag, outputFlags } from '../cli/flags.js';

export default class List extends BaseCommand {
  static override summary = 'Show the services in etcd, or the instances of one.';
  static override examples = [
    '<%= config.bin %> list',
    '<%= config.bin %> list user.rpc -o wide',
    { description: 'Who answers?', command: '<%= config.bin %> list user.rpc --probe' },
    { description: 'Addresses in rotation, for a script', command: '<%= config.bin %> list user.rpc -o address' },
  ];
  static override args = {
    service: Args.string({ description: 'Show its instances; without it, every service.', ignoreStdin: true }),
  };
  static override flags = {
    probe: Flags.boolean({ summary: 'Connect to each address to tell HEALTH.' }),
    ttl: Flags.boolean({ summary: 'Ask etcd for the TTL of each lease. [default: up to 256 leases]', allowNo: true }),
    ...dialectFlag,
    ...outputFlags('table', 'wide', 'json', 'yaml', 'ndjson', 'address'),
    ...connectionFlags,
  };

  protected async perform(): Promise<Outcome> {
    const { args, flags } = await this.parse(List);
    const etcd = await this.connect(flags);
    const { listAllServices, listInstances } = await import('../cli/list/list.js');
    const discovery = flags.dialect === undefined ? {} : { dialect: flags.dialect };
    const tell = (line: string) => this.tell(line);
    if (args.service === undefined) return listAllServices(etcd, { ...discovery, tell });
    return listInstances(etcd, args.service, {
      ...discovery,
      probe: flags.probe,
      ttl: this.format === 'address' ? false : flags.ttl,
      signal: this.lifetime.signal,
      tell,
    });
  }
}
