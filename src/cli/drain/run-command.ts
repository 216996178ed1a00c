import { systemClock } from '../../core/model/clock.js';
import { placeholders } from '../../core/operations/drain/plan.js';
import type { CommandTarget, DrainPorts } from '../../core/operations/drain/request.js';
import type { Lifetime } from '../lifetime.js';
import { type Ending, exitCodeOf } from '../wrapped-command/exit-status.js';
import { forwardSignals } from '../wrapped-command/forwarded-signals.js';
import { WrappedCommand } from '../wrapped-command/wrapped-command.js';

export interface RunContext {
  readonly lifetime: Lifetime;
  readonly killAfterMs: number;
  /** Our stdout is a document: the command's goes to stderr. */
  readonly isStructured: boolean;
  readonly tell: (line: string) => void;
}

/** Runs the command of a drain. The signal that ended us is passed on; nothing of it then outlives us. */
export function commandRunner({ lifetime, killAfterMs, isStructured, tell }: RunContext): DrainPorts['run'] {
  return async (command, target, signal) => {
    const started = await WrappedCommand.start(command, {
      clock: systemClock,
      killAfterMs,
      env: { ...process.env, ...environmentOf(target) },
      stdout: isStructured ? 'stderr' : 'inherit',
      onUnguarded: ({ message }) =>
        tell(`Warning: no watchdog (${message}): a kill -9 of lbctl would leave the command behind`),
    });
    const stopForwarding = forwardSignals(started);
    const stop = () => started.stop(endingSignal(lifetime));
    // A process that cannot even be killed is not waited for for ever: `stop` gives up, `ended` would not.
    const stopped = new Promise<Ending>((resolve) => {
      const onAbort = () => void stop().then(resolve);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      const ending = await Promise.race([started.ended, stopped]);
      // Interrupted: all of it ends with us. Otherwise what it leaves running is the service that it restarted.
      if (signal.aborted) return exitCodeOf(await stop());
      started.letGo();
      return exitCodeOf(ending);
    } finally {
      stopForwarding();
    }
  };
}

function endingSignal({ interruption }: Lifetime): NodeJS.Signals {
  return interruption === null || interruption === 'EPIPE' ? 'SIGTERM' : interruption;
}

/** What the command is told of the instance. */
function environmentOf(target: CommandTarget): Record<string, string> {
  const { host = '', port = '', address = '', id = '' } = placeholders(target);
  return {
    LBCTL_SERVICE: target.service,
    LBCTL_ADDRESS: address,
    LBCTL_HOST: host,
    LBCTL_PORT: port,
    LBCTL_ID: id,
  };
}
