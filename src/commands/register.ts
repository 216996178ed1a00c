import { isatty } from 'node:tty';
import { Args, Flags } from '@oclif/core';
import { BaseCommand } from '../cli/base-command.js';
import { connectionFlags, outputFlags } from '../cli/flags.js';
import { LbctlError } from '../core/model/errors.js';

export default class Register extends BaseCommand {
  static override summary = 'Hold a registration until it is ended; with a command, for as long as that runs.';
  static override description =
    `With CMD: starts it, registers (when healthy, with --health), and at SIGTERM or Ctrl-C takes the instance out
first, waits, then passes the signal on and exits with the exit code of CMD. Nothing of CMD is left behind.
State changes are lines on stdout, or on stderr when there is a CMD, which then owns stdout.`;
  static override usage = 'register SERVICE [ADDRESS] [FLAGS] [-- CMD…]';
  static override examples = [
    '<%= config.bin %> register user.rpc 10.0.0.7:8080',
    '<%= config.bin %> register user.rpc :8080 --health grpc --drain-delay 2s -- ./user-server -f etc/user.yaml',
    '<%= config.bin %> register user.rpc --advertise lb.example:443 --health https://lb.example/healthz',
  ];
  static override args = {
    // oclif would take what is missing from stdin, which belongs to CMD.
    service: Args.string({ required: true, description: 'The service, for example user.rpc.', ignoreStdin: true }),
    address: Args.string({
      description: 'host:port; :port takes POD_IP or the first address of this machine.',
      ignoreStdin: true,
    }),
  };
  static override flags = {
    advertise: Flags.string({ summary: 'Register this address, whatever ADDRESS is.', helpValue: 'HOST:PORT' }),
    id: Flags.string({ summary: 'Last part of the key. [default: as the layout does it]' }),
    ttl: Flags.string({
      summary: 'The key is gone this long after lbctl died.',
      helpValue: 'DURATION',
      default: '10s',
    }),
    weight: Flags.string({ summary: 'Share of the calls, 1 to 100000.', helpValue: 'N', default: '1' }),
    zone: Flags.string({ summary: 'Where it runs.', default: '' }),
    'version-label': Flags.string({ summary: 'Which version it is.', helpValue: 'VERSION', default: '' }),
    meta: Flags.string({
      summary: 'Anything else; may be repeated.',
      helpValue: 'KEY=VALUE',
      multiple: true,
      multipleNonGreedy: true,
      default: [],
    }),
    dialect: Flags.string({ summary: 'Layout: gozero, json, kratos, endpoint.', helpValue: 'NAME', default: 'gozero' }),
    exclusive: Flags.boolean({ summary: 'Take the address over from an older registration of lbctl.' }),
    health: Flags.string({
      summary: 'Register once this succeeds, withdraw after 3 failures: tcp, grpc, tcp://…, grpc://…/service, http://…',
      helpValue: 'CHECK',
    }),
    'drain-delay': Flags.string({
      summary: 'From the withdrawal to the signal for CMD.',
      helpValue: 'DURATION',
      default: '1s',
    }),
    'kill-after': Flags.string({
      summary: 'From that signal to SIGKILL.',
      helpValue: 'DURATION',
      default: '10s',
    }),
    ...outputFlags('table', 'json', 'ndjson'),
    ...connectionFlags,
  };

  protected async perform(): Promise<number> {
    const end = this.argv.indexOf('--');
    const [own, command] = end < 0 ? [this.argv, []] : [this.argv.slice(0, end), this.argv.slice(end + 1)];
    const { args, flags } = await this.parse(Register, own);
    if (end >= 0 && !command[0]) {
      throw new LbctlError('USAGE', 'A command is missing after --', { suggestions: ['lbctl register --help'] });
    }

    const { readRequest } = await import('../cli/register/request.js');
    const request = readRequest(
      {
        ...args,
        ...flags,
        versionLabel: flags['version-label'],
        drainDelay: flags['drain-delay'],
        killAfter: flags['kill-after'],
      },
      process.env,
    );
    const etcd = await this.connect(flags);
    const { registerAndHold } = await import('../cli/register/register-and-hold.js');
    return registerAndHold(etcd, request, command, {
      lifetime: this.lifetime,
      version: this.config.version,
      json: this.format !== 'table',
      hasTerminal: [0, 1, 2].some((fd) => isatty(fd)),
      write: (text) => void (command.length > 0 ? process.stderr : process.stdout).write(text),
    });
  }
}
