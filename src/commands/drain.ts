import { BaseCommand, type Outcome } from '../cli/base-command.js';
import { drainFlags, drainRequest, splitCommand } from '../cli/drain/flags.js';
import { connectionFlags, outputFlags } from '../cli/flags.js';
import { serviceArg } from '../cli/steering/steering.js';
import { parseTimeout } from '../core/model/duration.js';

export default class Drain extends BaseCommand {
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
      command: '<%= config.bin %> drain user.rpc host=10.0.0.7 --until-idle --min-available 2',
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
    const request = drainRequest(flags, this.lifetime.signal);
    const killAfterMs = parseTimeout(flags['kill-after'], '--kill-after');
    const etcd = await this.connect(flags);
    const { drainInstances } = await import('../core/operations/drain/drain.js');
    const { drainPorts } = await import('../cli/drain/ports.js');
    const { drainOutcome, lastWords } = await import('../cli/drain/outcome.js');
    const context = { lifetime: this.lifetime, killAfterMs, isStructured: this.format !== 'table' };
    const { ports, lines } = drainPorts(context, (line, fields) => this.tell(line, fields));
    // A Ctrl-C leaves a state behind that has to be told.
    this.lifetime.finishByItself();
    const result = await drainInstances(
      etcd,
      { ...request, service, selectors, command, verb: 'drain' },
      ports,
    ).finally(() => lines.stop());
    for (const line of lastWords(result)) this.tell(line);
    return drainOutcome(result, this.lifetime.exitCode);
  }
}
