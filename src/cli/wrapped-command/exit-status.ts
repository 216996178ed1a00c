import { constants } from 'node:os';
import { LbctlError } from '../../core/model/errors.js';

/** How a process ended, as Node tells it: exactly one of the two is set. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The exit code that a shell would show: the child's own, or 128 + n when signal n ended it. */
export function exitCodeOf(ending: Ending): number {
  if (ending.signal !== null) return 128 + constants.signals[ending.signal];
  return ending.code ?? 1;
}

/** Not the command's fault: the system had no room for one more process (or, without errno, Node refused to try). */
const wrapperFaults = ['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE'];

/** The error for a command that could not be started, as env(1) and timeout(1) sort them (exit 125, 126, 127). */
export function startError(command: string, error: NodeJS.ErrnoException): LbctlError {
  if (error.code === 'ENOENT') {
    return new LbctlError('COMMAND_NOT_FOUND', `Cannot start "${command}": there is no such command`, {
      cause: error,
      suggestions: ['Check the spelling and PATH; a script also needs the interpreter of its first line.'],
    });
  }
  if (error.errno === undefined || wrapperFaults.includes(error.code ?? '')) {
    return new LbctlError('WRAPPER_FAILED', `Cannot start "${command}": ${error.message}`, { cause: error });
  }
  return new LbctlError('COMMAND_NOT_EXECUTABLE', `Cannot start "${command}": ${error.message}`, {
    cause: error,
    suggestions: [`Make it executable: chmod +x ${command}`],
  });
}
