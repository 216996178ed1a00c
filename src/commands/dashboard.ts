import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { BaseCommand, type Outcome } from '../cli/base-command.js';
import { dashboardRequest } from '../cli/dashboard/request.js';
import { connectionFlags, outputFlags } from '../cli/flags.js';
import { once } from '../cli/once.js';
import { keyboard } from '../cli/output/keyboard.js';
import { isLiveScreen } from '../cli/output/live.js';

export default class Dashboard extends BaseCommand {
  static override summary = 'Watch the load of each instance of a service, live: calls, latency, errors, health.';
  static override description =
    'The figures come from calls of its own (probe), from clients that publish theirs (observers), or from the log of a ' +
    'go-zero client (--log). Without a terminal: a table or a line of JSON every interval.';
  static override examples = [
    '<%= config.bin %> dashboard user.rpc',
    '<%= config.bin %> dashboard user.rpc --source observers --write',
    {
      description: 'What go-zero clients in Kubernetes say, without etcd',
      command: 'kubectl logs -f -l app=shop --prefix | <%= config.bin %> dashboard --log -',
    },
    { description: 'For scripts', command: '<%= config.bin %> dashboard user.rpc --json --duration 10s' },
  ];
  static override args = {
    service: Args.string({ description: 'The service; not needed with --log or --replay.', ignoreStdin: true }),
  };
  static override flags = {
    source: Flags.string({
      summary: 'Where the figures come from. [default: probe]',
      options: ['probe', 'observers'],
    }),
    observer: Flags.string({ summary: 'Look through this client alone, by its name or id.', helpValue: 'NAME' }),
    log: Flags.string({
      summary: 'Read statistics lines of go-zero from this file, and what is added to it; - is stdin. Repeatable.',
      helpValue: 'FILE',
      multiple: true,
      multipleNonGreedy: true,
    }),
    record: Flags.string({ summary: 'Append every frame to this file.', helpValue: 'FILE' }),
    replay: Flags.string({ summary: 'Play what --record wrote.', helpValue: 'FILE' }),
    interval: Flags.string({ summary: 'From frame to frame: 100ms to 1m.', helpValue: 'DURATION', default: '1s' }),
    duration: Flags.string({ summary: 'End by itself after this long.', helpValue: 'DURATION' }),
    'probe-rate': Flags.string({
      summary: 'Calls a second of the probe. [default: 2, and one more for ten instances]',
      helpValue: 'N',
    }),
    write: Flags.boolean({ summary: 'Let the keys p, u and d pause, resume and drain, after a yes.' }),
    ...outputFlags('table', 'json', 'ndjson'),
    ...connectionFlags,
  };

  protected async perform(): Promise<Outcome | number> {
    const { args, flags } = await this.parse(Dashboard);
    const request = dashboardRequest(args.service, flags);
    const { runLive, runPlain } = await import('../cli/dashboard/run.js');
    const settings = once(() => this.settings(flags));
    const context = {
      lifetime: this.lifetime,
      format: this.format,
      view: await this.view(),
      flags,
      settings,
      connection: once(async () => this.open(await settings())),
      tell: (line: string) => this.tell(line),
      print: (text: string) => this.print(text),
    };
    const canShow = this.format === 'table' && isLiveScreen(process.env);
    const keys = canShow ? keyboard(flags.log?.includes('-') === true) : null;
    return keys ? runLive(request, context, keys) : runPlain(request, context);
  }
}
