import type { Clock } from '../../../src/core/model/clock.js';

/** A clock that reads what it is set to, ns. */
export function settableClock(): Clock & { ns: number } {
  const clock = {
    ns: 0,
    now: () => 0,
    monotonic: () => clock.ns / 1e6,
    timer: () => ({ cancel: () => undefined }),
  };
  return clock;
}
