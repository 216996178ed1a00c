import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fullJitterMs } from '../../../src/core/etcd/backoff.js';
import { EndpointBalancer, penaltyMs } from '../../../src/core/etcd/balancer.js';
import type { Clock } from '../../../src/core/model/clock.js';

function manualClock(): Clock & { ms: number } {
  return {
    ms: 0,
    now: () => 0,
    monotonic() {
      return this.ms;
    },
    timer: () => ({ cancel() {} }),
  };
}

test('one endpoint is kept while it works, and left for 5 s when it fails', () => {
  const clock = manualClock();
  const balancer = new EndpointBalancer(['a', 'b', 'c'], clock, () => 0.5);
  expect([balancer.choose(), balancer.choose()]).toEqual(['b', 'b']);
  balancer.blame('b');
  expect([balancer.choose(), balancer.choose()]).toEqual(['c', 'c']);
  clock.ms = penaltyMs - 1;
  balancer.blame('c');
  expect(balancer.choose()).toBe('a');
  balancer.blame('a');
  clock.ms = penaltyMs;
  expect(balancer.choose()).toBe('b');
});

test('when all are blamed, the one whose penalty ends first is tried', () => {
  const clock = manualClock();
  const balancer = new EndpointBalancer(['a', 'b'], clock, () => 0);
  balancer.blame('b');
  clock.ms = 10;
  balancer.blame('a');
  expect(balancer.choose()).toBe('b');
  balancer.praise('a');
  balancer.blame('b');
  expect(balancer.choose()).toBe('a');
});

test('an endpoint under penalty is never chosen while another is free of it', () => {
  const step = fc.record({ waitMs: fc.nat(6000), item: fc.nat(3), isGood: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const clock = manualClock();
      const balancer = new EndpointBalancer([0, 1, 2, 3], clock, () => 0);
      const blamedAt = new Map<number, number>();
      for (const { waitMs, item, isGood } of steps) {
        clock.ms += waitMs;
        if (isGood) balancer.praise(item);
        else balancer.blame(item);
        if (isGood) blamedAt.delete(item);
        else blamedAt.set(item, clock.ms);
        const isFree = (i: number) => clock.ms - (blamedAt.get(i) ?? -Infinity) >= penaltyMs;
        if ([0, 1, 2, 3].some(isFree)) expect(isFree(balancer.choose())).toBe(true);
      }
    }),
  );
});

test('the back-off grows to its cap and never passes it', () => {
  const longest = [0, 1, 2, 5, 6, 100].map((failures) => fullJitterMs(failures, () => 0.999999));
  expect(longest.map(Math.round)).toEqual([50, 100, 200, 1600, 2000, 2000]);
  expect(fullJitterMs(9, () => 0)).toBe(0);
});
