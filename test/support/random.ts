import type { Rng } from '../../src/core/model/clock.js';

/** mulberry32: the same seed gives the same numbers on every machine. */
export function seededRng(seed: number): Rng {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 0x100000000;
  };
}

/** Chi-square quantile for p = 0.001, by degrees of freedom. */
export const chiSquareLimit = { 4: 18.47 } as const;
