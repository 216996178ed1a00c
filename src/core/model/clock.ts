/** Time as a port: production uses the system's, tests and the simulator bring their own. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch: for people and records only. */
  now(): number;
  /** Monotonic milliseconds (fractions allowed): for every duration, deadline and expiry. */
  monotonic(): number;
  /** Calls `fn` once after `ms`. The timer keeps the process alive unless `background` is set. */
  timer(ms: number, fn: () => void, options?: { background?: boolean }): Timer;
}

/** A timer that was started. */
export interface Timer {
  /** Idempotent; harmless once it has fired. */
  cancel(): void;
}

/** A random number in [0, 1). */
export type Rng = () => number;

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(ms, fn, options) {
    const handle = setTimeout(fn, ms);
    if (options?.background) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** `Math.random`. */
export const systemRng: Rng = () => Math.random();

/** Resolves after `ms`, or at once when `signal` aborts (it never rejects: the caller looks at the signal). */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      timer.cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.timer(ms, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
