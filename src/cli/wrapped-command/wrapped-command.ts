import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import type { Clock } from '../../core/model/clock.js';
import { type Ending, startError } from './exit-status.js';
import { groupGone, signalGroup } from './process-group.js';
import { startWatchdog, type Watchdog } from './watchdog.js';

/** A process that cannot be killed (uninterruptible I/O) does not hold us for longer than this. */
const unkillableMs = 1000;

export interface WrappedCommandOptions {
  readonly clock: Clock;
  /** From the first signal of a stop to SIGKILL. */
  readonly killAfterMs: number;
  /** Instead of our own environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** Where its stdout goes: ours, or our stderr when ours is a document that must stay one. */
  readonly stdout?: 'inherit' | 'stderr';
  /** The watchdog is missing: a kill -9 of this process would leave the command behind. */
  onUnguarded(error: Error): void;
}

/**
 * A child in a session and process group of its own, with our stdin, stdout and stderr. Nothing of the group outlives
 * `stop()`, and with the watchdog nothing outlives this process either; see docs/decisions/0006-wrapped-command.md.
 */
export class WrappedCommand {
  /** When the command itself has ended; others of its group may still run: `stop()` ends them. */
  readonly ended: Promise<Ending>;
  readonly #groupId: number;
  readonly #watchdog: Watchdog;
  readonly #options: WrappedCommandOptions;
  #stopping: Promise<Ending> | undefined;

  /** @throws COMMAND_NOT_FOUND, COMMAND_NOT_EXECUTABLE, WRAPPER_FAILED */
  static async start(command: readonly string[], options: WrappedCommandOptions): Promise<WrappedCommand> {
    const [file = '', ...args] = command;
    let watchdog: Watchdog | null = null;
    try {
      watchdog = startWatchdog(options.killAfterMs, options.onUnguarded);
      // detached is setsid(): Ctrl-C reaches us alone, so that the withdrawal comes before the signal.
      const { env, stdout = 'inherit' } = options;
      const stdio: StdioOptions = ['inherit', stdout === 'stderr' ? 2 : 'inherit', 'inherit'];
      const child = spawn(file, args, { detached: true, stdio, ...(env && { env }) });
      const groupId = child.pid;
      if (groupId !== undefined) watchdog.guard(groupId);
      await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
      // A group 0 would be our own.
      if (groupId === undefined) throw new Error('it has no process id');
      return new WrappedCommand(child, groupId, watchdog, options);
    } catch (error) {
      watchdog?.release();
      throw startError(file, error as NodeJS.ErrnoException);
    }
  }

  private constructor(child: ChildProcess, groupId: number, watchdog: Watchdog, options: WrappedCommandOptions) {
    this.#groupId = groupId;
    this.#watchdog = watchdog;
    this.#options = options;
    this.ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  }

  get pid(): number {
    return this.#groupId;
  }

  /** Passes a signal on to the whole group. */
  signal(signal: NodeJS.Signals): void {
    signalGroup(this.#groupId, signal);
  }

  /**
   * Passes `signal` on, waits for the whole group, kills it after `killAfterMs`; resolves with how the command ended.
   * Called once more it only waits.
   */
  stop(signal: NodeJS.Signals): Promise<Ending> {
    this.#stopping ??= this.#stop(signal);
    return this.#stopping;
  }

  /** It has ended, and what it left running is meant to run: a restart that leaves a server behind. */
  letGo(): void {
    this.#watchdog.release();
  }

  /** Does not wait any longer: SIGKILL to the group. */
  kill(): void {
    this.signal('SIGKILL');
  }

  async #stop(signal: NodeJS.Signals): Promise<Ending> {
    const { clock, killAfterMs } = this.#options;
    const deadline = clock.monotonic() + killAfterMs;
    this.signal(signal);
    // A stopped process (Ctrl-Z, SIGSTOP) does not see the signal before it goes on.
    this.signal('SIGCONT');
    await this.#endedWithin(killAfterMs);
    let gone = await groupGone(this.#groupId, Math.max(0, deadline - clock.monotonic()), clock);
    if (!gone) {
      this.kill();
      gone = await groupGone(this.#groupId, unkillableMs, clock);
    }
    if (gone) this.#watchdog.release();
    return gone ? this.ended : { code: null, signal: 'SIGKILL' };
  }

  /** The common case without polling: the command ends in time. */
  #endedWithin(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.timer(timeoutMs, resolve);
      void this.ended.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}
