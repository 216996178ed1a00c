import * as Flags from '@oclif/core/flags';
import { BaseCommand, type Outcome } from '../cli/base-command.js';
import { outputFlags } from '../cli/flags.js';
import { canDrawLive } from '../cli/output/live.js';
import { parseDuration } from '../core/model/duration.js';

export default class Demo extends BaseCommand {
  static override summary = 'See it all on one machine without etcd: a registry, five instances, traffic.';
  static override description =
    'On a terminal a live table, until q. Elsewhere it runs for --duration and prints the table. ' +
    'Other terminals can use every verb on it meanwhile.';
  static override examples = [
    '<%= config.bin %> demo',
    { description: 'Without a terminal', command: '<%= config.bin %> demo --duration 5s --json' },
  ];
  static override flags = {
    duration: Flags.string({
      summary: 'End by itself after this long. [default: 10s without a terminal]',
      helpValue: 'DURATION',
    }),
    listen: Flags.string({
      summary: 'Where the registry listens. [default: 127.0.0.1:2379 when free, else any port]',
      helpValue: 'HOST:PORT',
    }),
    ...outputFlags('table', 'json'),
  };

  protected async perform(): Promise<Outcome> {
    const { flags } = await this.parse(Demo);
    const { checkDuration, runDemo } = await import('../cli/demo/run.js');
    return runDemo({
      listen: flags.listen,
      durationMs: flags.duration === undefined ? undefined : checkDuration(parseDuration(flags.duration)),
      version: this.config.version,
      live: this.format === 'table' && canDrawLive(process.env),
      lifetime: this.lifetime,
      tell: (line) => this.tell(line),
    });
  }
}
