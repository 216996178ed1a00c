import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { BaseCommand, type Outcome } from '../cli/base-command.js';
import { callRequest } from '../cli/call/request.js';
import { callText } from '../cli/call/text.js';
import { connectionFlags, outputFlags } from '../cli/flags.js';
import { isLiveScreen } from '../cli/output/live.js';

const list = { multiple: true, multipleNonGreedy: true } as const;

export default class Call extends BaseCommand {
  static override summary = 'Call a service over gRPC, through the resolver and the policy that its clients use.';
  static override description =
    'The standard health check by default; with --method any unary method, described by --proto or by the server itself ' +
    '(reflection). Plaintext. Several policies run at the same time, each with connections of its own.';
  static override examples = [
    '<%= config.bin %> call greet.rpc',
    '<%= config.bin %> call greet.rpc --method greet.Greeter/SayHello --data \'{"name": "ann"}\'',
    '<%= config.bin %> call greet.rpc --policy p2c_ewma,round_robin --rps 200 --duration 20s',
    "<%= config.bin %> call greet.rpc --policy consistent_hash --key 'user:{n}' -n 1000",
    '<%= config.bin %> call direct:///10.0.0.1:8080,10.0.0.2:8080 -n 100',
  ];
  static override args = {
    service: Args.string({
      description: 'A service in etcd, or a target: direct:///…, etcd:///…, k8s://….',
      required: true,
      ignoreStdin: true,
    }),
  };
  static override flags = {
    policy: Flags.string({ ...list, summary: 'Balancing policies, comma separated. [default: p2c_ewma]' }),
    method: Flags.string({ summary: 'The method to call.', helpValue: 'PKG.SERVICE/METHOD' }),
    proto: Flags.string({ summary: 'The file that describes it; without it the server is asked.', helpValue: 'FILE' }),
    'import-path': Flags.string({ ...list, summary: 'Where --proto finds what it imports.', helpValue: 'DIR' }),
    data: Flags.string({ char: 'd', summary: 'The request as JSON; @FILE reads a file, @- stdin.', helpValue: 'JSON' }),
    metadata: Flags.string({ ...list, char: 'H', summary: 'Metadata of every call.', helpValue: 'NAME=VALUE' }),
    key: Flags.string({ summary: 'The hash key of the calls; {n} in it stands for the number of the call.' }),
    count: Flags.integer({ char: 'n', summary: 'How many calls. [default: 10 without --duration]', min: 1, max: 1e9 }),
    duration: Flags.string({ summary: 'Call for this long.', helpValue: 'DURATION' }),
    rps: Flags.string({ summary: 'Start so many calls a second, whether or not others have ended.', helpValue: 'N' }),
    concurrency: Flags.integer({
      char: 'c',
      summary:
        'Callers that call one after the other; with --rps the most calls in flight. [default: 1; 1000 with --rps]',
      min: 1,
      max: 10_000,
    }),
    timeout: Flags.string({ summary: 'Deadline of each call.', helpValue: 'DURATION', default: '2s' }),
    retry: Flags.boolean({
      summary: 'Retry calls that no instance answered, on another one: for methods that may be repeated.',
    }),
    ...outputFlags('table', 'json', 'yaml', 'ndjson'),
    ...connectionFlags,
  };

  protected async perform(): Promise<Outcome> {
    const { args, flags } = await this.parse(Call);
    const request = callRequest(flags);
    const [{ callService }, { Progress }] = await Promise.all([
      import('../cli/call/run.js'),
      import('../cli/call/progress.js'),
    ]);
    const tell = (line: string) => this.tell(line);
    const screen = this.format === 'table' && isLiveScreen(process.env) && process.stderr.isTTY ? process.stderr : null;
    const { results, error } = await callService(args.service, request, {
      lifetime: this.lifetime,
      etcd: async (endpoints = flags.endpoints) => {
        const settings = await this.settings({ ...flags, endpoints });
        return { settings, connection: await this.open(settings) };
      },
      tell,
      progress: new Progress(screen, tell),
    });
    const [only] = results;
    return {
      document: results.length === 1 && only ? only : results,
      rows: results,
      text: (view) => callText(results, view),
      ...(error ? { error } : { exitCode: this.lifetime.exitCode }),
    };
  }
}
