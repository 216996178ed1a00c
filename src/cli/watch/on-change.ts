import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock, Timer } from '../../core/model/clock.js';
import { parseTimeout } from '../../core/model/duration.js';
import { LbctlError } from '../../core/model/errors.js';
import { groupGone, signalGroup } from '../wrapped-command/process-group.js';

export interface Debounce {
  /** A run waits for so much quiet… */
  readonly minMs: number;
  /** …but never longer than this after the first change. */
  readonly maxMs: number;
}

/**
 * Reads `min:max`, or one duration for both.
 * @throws USAGE
 */
export function parseDebounce(text: string): Debounce {
  const [min = '', max = min, ...rest] = text.split(':');
  const debounce = { minMs: parseTimeout(min, '--debounce'), maxMs: parseTimeout(max, '--debounce') };
  if (rest.length === 0 && debounce.minMs <= debounce.maxMs) return debounce;
  throw new LbctlError('USAGE', `"${text}" is not a debounce`, {
    suggestions: ['Write min:max with min <= max, like --debounce 200ms:2s.'],
  });
}

export interface OnChangeOptions {
  readonly command: string;
  readonly debounce: Debounce;
  readonly clock: Clock;
  /** From SIGTERM to SIGKILL for a run that a newer one replaces. */
  readonly killAfterMs: number;
  /** What a run gets on stdin; asked for when it starts, so it is always the newest. */
  input(): string;
  tell(line: string): void;
}

/**
 * Runs a shell command when something changed. One run at a time: the process group of the one before is ended first.
 * The command's output goes to our stderr, because our stdout is data.
 */
export class OnChange {
  readonly #options: OnChangeOptions;
  #timer: Timer | undefined;
  #firstChangeAt = 0;
  #running: ChildProcess | undefined;
  #closed = false;
  /** One thing after the other: end the old, start the new. */
  #queue: Promise<void> = Promise.resolve();

  constructor(options: OnChangeOptions) {
    this.#options = options;
  }

  changed(): void {
    if (this.#closed) return;
    const { clock, debounce } = this.#options;
    const now = clock.monotonic();
    if (this.#timer) this.#timer.cancel();
    else this.#firstChangeAt = now;
    const latest = this.#firstChangeAt + debounce.maxMs;
    this.#timer = clock.timer(Math.max(0, Math.min(debounce.minMs, latest - now)), () => this.#due());
  }

  /** Ends a run that is under way, and starts no other. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    this.#queue = this.#queue.then(() => this.#end());
    await this.#queue;
  }

  #due(): void {
    this.#timer = undefined;
    this.#queue = this.#queue.then(async () => {
      await this.#end();
      if (!this.#closed) this.#start();
    });
  }

  #start(): void {
    const { command, tell } = this.#options;
    // A group of its own: ending it ends what the shell started too.
    const child = spawn('/bin/sh', ['-c', command], { detached: true, stdio: ['pipe', 2, 2] });
    this.#running = child;
    child.on('error', (error) => tell(`Cannot run ${command}: ${error.message}`));
    child.on('exit', (code, signal) => {
      if (this.#running !== child) return;
      if (code !== 0) tell(`${command} ended with ${signal ?? `exit code ${code}`}`);
    });
    // A command need not read what it is given.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(this.#options.input());
  }

  async #end(): Promise<void> {
    const groupId = this.#running?.pid;
    this.#running = undefined;
    if (groupId === undefined || !signalGroup(groupId, 'SIGTERM')) return;
    const { clock, killAfterMs } = this.#options;
    if (await groupGone(groupId, killAfterMs, clock)) return;
    signalGroup(groupId, 'SIGKILL');
    await groupGone(groupId, 1000, clock);
  }
}
