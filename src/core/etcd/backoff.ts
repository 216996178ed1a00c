import type { Rng } from '../model/clock.js';

/**
 * Full jitter (Marc Brooker, "Exponential Backoff And Jitter"): a random time up to base * 2^failures, so that clients
 * that lost etcd together do not come back together. `failures` counts from 0.
 */
export function fullJitterMs(failures: number, rng: Rng, baseMs = 50, capMs = 2000): number {
  return rng() * Math.min(capMs, baseMs * 2 ** Math.min(failures, 30));
}
