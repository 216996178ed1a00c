import fc from 'fast-check';
import { expect, test } from 'vitest';
import { beatTimeoutMs, expiresAt, nextBeat, randomLeaseId } from '../../../src/core/etcd/lease-plan.js';

test.each([
  // ttlMs, lastGoodAt, lastFailed, now -> inMs
  [9000, 0, false, 0, 3000],
  [9000, 0, false, 2900, 100],
  [9000, 0, false, 5000, 0],
  [9000, 0, true, 5000, 200],
  [9000, 0, true, 8900, 100],
])(
  'ttl %d, good at %d, failed %s, now %d: the next beat is due in %d ms',
  (ttlMs, lastGoodAt, lastFailed, now, inMs) => {
    expect(nextBeat({ ttlMs, lastGoodAt, lastFailed }, now)).toEqual({ lost: false, inMs });
  },
);

test('a lease is lost exactly when its TTL has passed since the last good beat was sent', () => {
  const timing = { ttlMs: 9000, lastGoodAt: 100, lastFailed: true };
  expect(nextBeat(timing, 9099.9)).toMatchObject({ lost: false });
  expect(nextBeat(timing, 9100)).toEqual({ lost: true });
});

/** Beats of which each takes as long as it may; the answers are good or not as the list says. */
function simulate(
  ttlMs: number,
  answers: readonly boolean[],
): { beats: number; lostAt: number | null; lastGoodAt: number } {
  let timing = { ttlMs, lastGoodAt: 0, lastFailed: false };
  let now = 0;
  let beats = 0;
  for (const good of answers) {
    let next = nextBeat(timing, now);
    if (next.lost) break;
    now += next.inMs;
    next = nextBeat(timing, now);
    if (next.lost) break;
    beats++;
    const sentAt = now;
    now += beatTimeoutMs(timing, now);
    timing = good ? { ttlMs, lastGoodAt: sentAt, lastFailed: false } : { ...timing, lastFailed: true };
  }
  const lost = nextBeat(timing, now).lost;
  return { beats, lostAt: lost ? now : null, lastGoodAt: timing.lastGoodAt };
}

test('whatever fails, the loss is noticed at the expiry, neither before nor after', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1000, max: 60_000 }), fc.array(fc.boolean(), { maxLength: 50 }), (ttlMs, answers) => {
      const run = simulate(ttlMs, [...answers, ...Array<boolean>(400).fill(false)]);
      expect(run.lostAt).toBeCloseTo(expiresAt({ ttlMs, lastGoodAt: run.lastGoodAt, lastFailed: true }), 6);
    }),
  );
});

test('between two good beats there is time to ask at least two members', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2000, max: 60_000 }), (ttlMs) => {
      expect(simulate(ttlMs, Array<boolean>(400).fill(false)).beats).toBeGreaterThanOrEqual(2);
    }),
  );
});

test('lease ids are positive int64', () => {
  expect(randomLeaseId(() => 0)).toBe(1n);
  expect(randomLeaseId(() => 1 - 2 ** -53)).toBe(2n ** 63n - 1n);
});
