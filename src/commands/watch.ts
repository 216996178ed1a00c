import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { BaseCommand } from '../cli/base-command.js';
import { connectionFlags, dialectFlag, outputFlags } from '../cli/flags.js';
import { firstLineFirst } from '../cli/output/first-line.js';
import { watchJson, watchText } from '../cli/watch/lines.js';

export default class Watch extends BaseCommand {
  static override summary = 'Show the instances of a service, then every change as it happens.';
  static override description =
    'Survives restarts of etcd and lost history: STALE, LIVE and RESYNC lines say so. JSON is one object a line.';
  static override examples = [
    '<%= config.bin %> watch user.rpc',
    '<%= config.bin %> watch user.rpc --json | jq .type',
    {
      description: 'Reload a proxy; the new set comes on stdin, as list --json prints it',
      command: "<%= config.bin %> watch user.rpc --exec './render.sh && nginx -s reload'",
    },
  ];
  static override args = {
    service: Args.string({ description: 'The service to watch.', required: true, ignoreStdin: true }),
  };
  static override flags = {
    once: Flags.boolean({ summary: 'End after the snapshot.', exclusive: ['exec'] }),
    exec: Flags.string({
      summary: 'Run this shell command on every change, with the new set as JSON on stdin.',
      description: 'Its output goes to stderr. A run that is still going is ended first, with all it started.',
      helpValue: 'COMMAND',
    }),
    'exec-initial': Flags.boolean({ summary: 'Run it for the snapshot too.', dependsOn: ['exec'] }),
    debounce: Flags.string({
      summary: 'Wait for so much quiet before a run, but at most so long: min:max.',
      helpValue: 'MIN:MAX',
      default: '200ms:2s',
    }),
    ...dialectFlag,
    ...outputFlags('table', 'json', 'ndjson'),
    ...connectionFlags,
  };

  protected async perform(): Promise<number> {
    const { args, flags } = await this.parse(Watch);
    const { parseDebounce } = await import('../cli/watch/on-change.js');
    const debounce = parseDebounce(flags.debounce);
    const etcd = await this.connect(flags);
    const { watchService } = await import('../cli/watch/watch.js');
    const { style } = await this.view();
    const print = (text: string) => this.print(text);
    const write = flags.once || process.stdout.isTTY ? print : firstLineFirst(print);
    const error = await watchService(etcd, args.service, {
      discovery: flags.dialect === undefined ? {} : { dialect: flags.dialect },
      once: flags.once,
      exec: flags.exec ? { command: flags.exec, debounce, initial: flags['exec-initial'] } : null,
      lifetime: this.lifetime,
      show: (line) => write(this.format === 'table' ? watchText(line, style) : watchJson(line)),
      tell: (line) => this.tell(line),
    });
    return error ? this.fail(error) : this.lifetime.exitCode;
  }
}
