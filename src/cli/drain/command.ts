import type { DrainPorts, DrainResult } from '../../core/operations/drain/request.js';
import { BaseCommand, type Outcome } from '../base-command.js';

/** What `drain` and `roll` are: one run with a command of the user's in it. */
export abstract class DrainCommand extends BaseCommand {
  protected async session(
    flags: { readonly 'kill-after': string },
    run: (ports: DrainPorts) => Promise<DrainResult>,
  ): Promise<Outcome> {
    const { drainSession } = await import('./session.js');
    const context = {
      lifetime: this.lifetime,
      killAfter: flags['kill-after'],
      isStructured: this.format !== 'table',
      tell: (line: string, fields?: object) => this.tell(line, fields),
    };
    return drainSession(context, run);
  }
}
