import { expect, test } from 'vitest';
import { pointInterval } from '../../src/embedded/interval.js';
import { Leases } from '../../src/embedded/leases.js';
import { MvccStore } from '../../src/embedded/store.js';
import { ManualClock } from './manual-clock.js';

function setUp() {
  const clock = new ManualClock();
  const store = new MvccStore();
  const leases = new Leases(store, clock);
  const put = (key: string, lease: bigint) => store.write((view) => view.put(key, Buffer.from('x'), lease));
  const exists = (key: string) => store.range(pointInterval(key)).length === 1;
  return { clock, store, leases, put, exists };
}

test('a lease and its keys go when the TTL has passed, not a millisecond before, as one revision', () => {
  const { clock, store, leases, put, exists } = setUp();
  leases.grant(7n, 5);
  put('a', 7n);
  put('b', 7n);
  clock.advance(4999);
  expect([exists('a'), leases.has(7n)]).toEqual([true, true]);
  const before = store.revision;
  clock.advance(1);
  expect([exists('a'), exists('b'), leases.has(7n)]).toEqual([false, false, false]);
  expect(store.revision).toBe(before + 1);
});

test('a beat starts the TTL anew', () => {
  const { clock, leases, put, exists } = setUp();
  leases.grant(7n, 5);
  put('a', 7n);
  for (let beat = 0; beat < 4; beat++) {
    clock.advance(4000);
    expect(leases.renew(7n)).toBe(5);
  }
  expect(exists('a')).toBe(true);
  expect(leases.info(7n)).toEqual({ remainingSeconds: 5, ttlSeconds: 5, keys: ['a'] });
  clock.advance(4999);
  expect(exists('a')).toBe(true);
  clock.advance(1);
  expect(exists('a')).toBe(false);
  expect(leases.renew(7n)).toBe(0);
});

test('the next to expire is listed first', () => {
  const { clock, leases } = setUp();
  leases.grant(1n, 60);
  leases.grant(2n, 30);
  leases.grant(3n, 40);
  expect(leases.list()).toEqual([2n, 3n, 1n]);
  clock.advance(20_000);
  leases.renew(2n);
  expect(leases.list()).toEqual([3n, 2n, 1n]);
});

test('a TTL longer than a timer can wait is kept to its end', () => {
  const { clock, leases } = setUp();
  const sixtyDays = 60 * 86_400;
  leases.grant(7n, sixtyDays);
  clock.advance(sixtyDays * 1000 - 1);
  expect(leases.has(7n)).toBe(true);
  clock.advance(1);
  expect(leases.has(7n)).toBe(false);
});

test('revoke and close leave no timer behind', () => {
  const { clock, leases } = setUp();
  leases.grant(1n, 60);
  leases.grant(2n, 60);
  leases.revoke(1n);
  expect(clock.pendingTimers).toBe(1);
  leases.close();
  expect(clock.pendingTimers).toBe(0);
});
