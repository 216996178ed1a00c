import type { WrappedCommand } from './wrapped-command.js';

/** What means nothing to us and may mean something to the command. */
const passedOn: readonly NodeJS.Signals[] = ['SIGUSR1', 'SIGUSR2', 'SIGQUIT', 'SIGWINCH', 'SIGCONT'];

/** Passes signals on to the command until the returned function is called. */
export function forwardSignals(command: WrappedCommand): () => void {
  const listeners = passedOn.map((signal) => ({ signal, listener: () => command.signal(signal) }));
  // Ctrl-Z reaches us alone: the command stops with us, and goes on with us (SIGCONT above).
  const suspend = () => {
    command.signal('SIGSTOP');
    process.kill(process.pid, 'SIGSTOP');
  };
  listeners.push({ signal: 'SIGTSTP', listener: suspend });
  for (const { signal, listener } of listeners) process.on(signal, listener);
  return () => {
    for (const { signal, listener } of listeners) process.off(signal, listener);
  };
}
