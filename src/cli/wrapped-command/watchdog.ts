import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';

/**
 * The last line: reads the group, then waits on its input. A word there means that all is well; an end without one
 * means that lbctl is gone without having been able to do anything (kill -9, out of memory). Then: TERM, wait, KILL.
 */
const script = [
  'read -r group || exit 0',
  'read -r done && exit 0',
  'kill -TERM "-$group" || exit 0',
  'tenths=$1',
  'while [ "$tenths" -gt 0 ] && kill -0 "-$group"; do sleep 0.1; tenths=$((tenths - 1)); done',
  'kill -KILL "-$group"',
].join('\n');

export interface Watchdog {
  /** From now on the group ends when this process does. Synchronous: no moment between the start of a child and this. */
  guard(groupId: number): void;
  /** The group has ended by itself: nothing to do any more. */
  release(): void;
}

/**
 * Starts the watchdog: one `sh` in a session of its own, so that neither Ctrl-C nor a kill of our process group ends it.
 * It holds none of our files and does not keep this process alive. `onFailure` is told when there is no `sh`.
 */
export function startWatchdog(graceMs: number, onFailure: (error: Error) => void): Watchdog {
  const tenths = String(Math.ceil(graceMs / 100));
  const shell = spawn('/bin/sh', ['-c', script, 'lbctl-watchdog', tenths], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.on('error', onFailure);
  // Absent when the system had no file descriptor left, whatever the type says.
  const input: Writable | undefined = shell.stdin;
  // The shell may have been killed: the write then fails, and there is nobody to tell.
  input?.on('error', () => undefined);
  shell.unref();
  return {
    guard: (groupId) => void input?.write(`${groupId}\n`),
    release: () => void input?.end('done\n'),
  };
}
