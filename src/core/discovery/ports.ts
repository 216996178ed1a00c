import { type Clock, type Rng, systemClock, systemRng } from '../model/clock.js';

/** What discovery needs of the outside besides etcd. */
export interface DiscoveryPorts {
  /** Every duration and timer. */
  readonly clock: Clock;
  /** Jitter. */
  readonly rng: Rng;
  /** Runs `fn` once everything that has already arrived was handed over (node: setImmediate). Never a timer. */
  readonly defer: (fn: () => void) => void;
}

export const systemPorts: DiscoveryPorts = {
  clock: systemClock,
  rng: systemRng,
  defer: (fn) => void setImmediate(fn),
};

/** Full jitter between nothing and a doubling bound of 50 ms to 2 s, so that a herd does not come back in step. */
export function backOffMs(attempt: number, rng: Rng): number {
  return Math.ceil(rng() * Math.min(2000, 50 * 2 ** Math.min(attempt, 10)));
}

/**
 * A cool-down of `baseMs` that differs a little in every process (go-zero's mathx.Unstable):
 * `trunc((1 + d - 2*d*rand) * base)`, the deviation d clamped to [0, 1].
 */
export function unstableMs(baseMs: number, deviation: number, rng: Rng): number {
  const d = Math.min(1, Math.max(0, deviation));
  return Math.trunc((1 + d - 2 * d * rng()) * baseMs);
}
