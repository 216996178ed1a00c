import * as Flags from '@oclif/core/flags';
import type { Outcome } from '../cli/base-command.js';
import { DrainCommand } from '../cli/drain/command.js';
import { drainFlags, drainRequest, splitCommand } from '../cli/drain/flags.js';
import { connectionFlags, outputFlags } from '../cli/flags.js';
import { serviceArg } from '../cli/steering/steering.js';
import { LbctlError } from '../core/model/errors.js';

export default class Roll extends DrainCommand {
  static override summary = 'Restart all instances of a service, each out of rotation while it is down.';
  static override description =
    `For each instance: lbctl drain SERVICE INSTANCE -- CMD, where {host} {port} {address} {id} in the arguments of CMD
stand for what the instance has. Stops at the first failure. After that, a Ctrl-C or kill -9, the same command line goes
on with what is left. One operator at a time rolls a service; what somebody has paused is left out.`;
  static override usage = 'roll SERVICE [FLAGS] -- CMD…';
  static override examples = [
    '<%= config.bin %> roll user.rpc --grace 5s -- ssh {host} sudo systemctl restart user',
    {
      description: 'Two at a time, at least three quarters up',
      command: '<%= config.bin %> roll user.rpc --max-unavailable 2 --min-available 75% -- ./deploy.sh {address}',
    },
  ];
  static override args = serviceArg;
  static override flags = {
    'max-unavailable': Flags.integer({ summary: 'So many at once.', min: 1, default: 1 }),
    restart: Flags.boolean({ summary: 'Forget an unfinished roll of this service and begin anew.' }),
    ...drainFlags,
    ...outputFlags('table', 'json', 'yaml', 'ndjson', 'address'),
    ...connectionFlags,
  };

  protected async perform(): Promise<Outcome> {
    const { own, command } = splitCommand('roll', this.argv);
    const { args, flags } = await this.parse(Roll, own);
    if (command === null) {
      throw new LbctlError('USAGE', 'A roll needs the command that restarts an instance', {
        suggestions: [`lbctl roll ${args.service} -- ssh {host} systemctl restart user`],
      });
    }
    const { service } = args;
    const request = {
      ...drainRequest(flags, this.lifetime.signal),
      service,
      command,
      maxUnavailable: flags['max-unavailable'],
      restart: flags.restart,
    };
    const etcd = await this.connect(flags);
    const { rollService } = await import('../core/operations/drain/roll.js');
    return this.session(flags, (ports) => rollService(etcd, request, ports));
  }
}
