/* When to beat, and when a lease is lost: pure, so that the timer around it stays thin. Times are monotonic ms. */

/** Pause before a failed beat is tried again. */
export const retryMs = 200;

export interface LeaseTiming {
  readonly ttlMs: number;
  /** When the last request that etcd answered well was SENT: the lease runs at least from then. */
  readonly lastGoodAt: number;
  readonly lastFailed: boolean;
}

export type NextBeat = { readonly lost: true } | { readonly lost: false; readonly inMs: number };

export function expiresAt(timing: LeaseTiming): number {
  return timing.lastGoodAt + timing.ttlMs;
}

/** A third of the TTL after the last good beat, or soon after a failed one; never later than the expiry. */
export function nextBeat(timing: LeaseTiming, now: number): NextBeat {
  const leftMs = expiresAt(timing) - now;
  if (leftMs <= 0) return { lost: true };
  const dueAt = timing.lastFailed ? now + retryMs : timing.lastGoodAt + timing.ttlMs / 3;
  return { lost: false, inMs: Math.min(leftMs, Math.max(0, dueAt - now)) };
}

/** How long one beat may take: short enough that a hung member leaves time to ask others before the expiry. */
export function beatTimeoutMs(timing: LeaseTiming, now: number): number {
  return Math.max(1, Math.min(timing.ttlMs / 4, 2000, expiresAt(timing) - now));
}

/** A random positive int64. */
export function randomLeaseId(rng: () => number): bigint {
  const high = BigInt(Math.floor(rng() * 2 ** 31));
  const low = BigInt(Math.floor(rng() * 2 ** 32));
  return (high << 32n) | low || 1n;
}
