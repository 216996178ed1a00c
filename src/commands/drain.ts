import type { Outcome } from '../cli/base-command.js';
import { DrainCommand } from '../cli/drain/command.js';
import { drainFlags, drainRequest, splitCommand } from '../cli/drain/flags.js';
import { connectionFlags, outputFlags } from '../cli/flags.js';
import { serviceArg } from '../cli/steering/steering.js';

export default class Drain extends DrainCommand {
  static override summary = 'Take instances out, wait until nobody uses them, restart them, put them back.';
  static override description =
    `SERVICE is followed by INSTANCE…: an address, an id, a key, zone=a or host=10.0.0.7. Without CMD they stay out.
With CMD: runs it once they are drained (LBCTL_ADDRESS, LBCTL_HOST, LBCTL_PORT, LBCTL_ID, LBCTL_SERVICE tell it which),
waits for each to be back and healthy, and resumes it. Run again, even after kill -9, it goes on where it was.`;
  static override usage = 'drain SERVICE INSTANCE… [FLAGS] [-- CMD…]';
  static override examples = [
    '<%= config.bin %> drain user.rpc 10.0.0.7:8080 --grace 5s -- systemctl restart user',
    {
      description: 'On the host itself, until the last connection is closed',
      command: '<%= config.bin %> drain user.rpc host=10.0.0.7 --until-idle --min-available 75%',
    },
  ];
  static override strict = false;
  static override args = serviceArg;
  static override flags = {
    ...drainFlags,
    ...outputFlags('table', 'json', 'yaml', 'ndjson', 'address'),
    ...connectionFlags,
  };

  protected async perform(): Promise<Outcome> {
    const { own, command } = splitCommand('drain', this.argv);
    const { argv, flags } = await this.parse(Drain, own);
    const [service = '', ...selectors] = argv.map(String);
    const request = {
      ...drainRequest(flags, this.lifetime.signal),
      service,
      selectors,
      command,
      verb: 'drain',
    } as const;
    const etcd = await this.connect(flags);
    const { drainInstances } = await import('../core/operations/drain/drain.js');
    return this.session(flags, (ports) => drainInstances(etcd, request, ports));
  }
}
