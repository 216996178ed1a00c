import { once, setMaxListeners } from 'node:events';
import { endProcess } from './end-process.js';
import { type EndingSignal, endingSignals, exitCodeOfSignal } from './exit-codes.js';

export type Interruption = EndingSignal | 'EPIPE';

/** A clean-up that etcd's absence holds up is given this long, then the process ends without it. */
const cleanupLimitMs = 3000;

/**
 * How the process ends. By default a signal, or a reader that closed our stdout (`watch | head -1`), runs the clean-ups
 * and exits. A verb that has to finish by itself (hand back a registration, resume what it paused) calls
 * `finishByItself()`: then only `signal` is aborted, and the verb's own exit code counts. A second signal always exits.
 */
export class Lifetime {
  readonly #controller = new AbortController();
  readonly #cleanups: Array<() => Promise<void> | void> = [];
  #interruption: Interruption | null = null;
  #finishesByItself = false;
  #handler: ((cause: Interruption) => void) | null = null;
  #closing: Promise<void> | null = null;

  constructor() {
    // Every call that is under way listens; a hundred at once are no leak, and no reason for Node to warn on stderr.
    setMaxListeners(0, this.#controller.signal);
  }

  /** Aborted as soon as the process was asked to end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get interruption(): Interruption | null {
    return this.#interruption;
  }

  /** True when the first interruption already leads to the exit: an error that follows from it is no news. */
  get isExiting(): boolean {
    return this.#interruption !== null && !this.#finishesByItself;
  }

  /** The exit code that the interruption alone would give; a reader that has seen enough is no failure. */
  get exitCode(): number {
    return this.#interruption === null || this.#interruption === 'EPIPE' ? 0 : exitCodeOfSignal(this.#interruption);
  }

  /** Runs at every orderly end, last registered first. */
  defer(cleanup: () => Promise<void> | void): void {
    this.#cleanups.push(cleanup);
  }

  /** Waits until the process is asked to end. Keeps it alive: an idle connection and a signal handler alone do not. */
  async interrupted(): Promise<void> {
    if (this.signal.aborted) return;
    const alive = setInterval(() => {}, 2 ** 30);
    await once(this.signal, 'abort');
    clearInterval(alive);
  }

  finishByItself(): void {
    this.#finishesByItself = true;
  }

  /** A verb that passes signals on to a command says itself what each of them means: none ends the process any more. */
  takeOver(handler: (cause: Interruption) => void): void {
    this.#handler = handler;
  }

  /** Listens to the process; called once, by main. */
  attach(): void {
    for (const signal of endingSignals) process.on(signal, () => this.interrupt(signal));
  }

  interrupt(cause: Interruption): void {
    if (this.#handler) {
      this.#handler(cause);
      return;
    }
    if (this.#interruption !== null) {
      // A pipe that broke goes on breaking with every line; only a person who asks twice is impatient.
      if (cause !== 'EPIPE') void endProcess(exitCodeOfSignal(cause));
      return;
    }
    this.#interruption = cause;
    this.#controller.abort(new Error(cause));
    if (this.#finishesByItself) return;
    void this.close().then(() => endProcess(this.exitCode));
  }

  /** Runs the clean-ups once; never throws, never takes longer than the limit. */
  close(): Promise<void> {
    this.#closing ??= this.#runCleanups();
    return this.#closing;
  }

  async #runCleanups(): Promise<void> {
    const all = this.#cleanups.reverse().map(async (cleanup) => cleanup());
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, cleanupLimitMs);
    });
    await Promise.race([Promise.allSettled(all), limit]);
    clearTimeout(timer);
  }
}

/** The lifetime of this process: there is one, as there is one process. */
export const lifetime = new Lifetime();
