import * as Flags from '@oclif/core/flags';
import { BaseCommand } from '../cli/base-command.js';
import { outputFlags } from '../cli/flags.js';
import { document, toJson } from '../cli/output/structured.js';

export default class Dev extends BaseCommand {
  static override summary = 'Run the embedded registry: an etcd v3 API in memory, for development and tests.';
  static override description = 'The first line on stdout is the endpoint. Everything is forgotten when it ends.';
  static override examples = [
    '<%= config.bin %> dev',
    { description: 'On any free port, for a script', command: '<%= config.bin %> dev --listen 127.0.0.1:0 --json' },
  ];
  static override flags = {
    listen: Flags.string({
      summary: 'Where to listen; port 0 picks a free one.',
      helpValue: 'HOST:PORT',
      default: '127.0.0.1:2379',
    }),
    ...outputFlags('table', 'json'),
  };

  protected async perform(): Promise<number> {
    const { flags } = await this.parse(Dev);
    const { startEmbedded } = await import('../embedded/server.js');
    const { endpoint, close } = await startEmbedded({ listen: flags.listen });
    this.lifetime.defer(close);
    this.print(this.format === 'json' ? `${toJson(document({ endpoint }), 0)}\n` : `${endpoint}\n`);
    this.tell('For development: it keeps nothing, and anybody who reaches it may read and write. Ctrl-C ends it.');
    await this.lifetime.interrupted();
    return this.lifetime.exitCode;
  }
}
