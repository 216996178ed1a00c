import { describe, expect, test } from 'vitest';
import { balanceNotices, shareOf, skewOf } from '../../../src/core/dashboard/balance.js';
import { unknownFigures } from '../../../src/core/dashboard/feed.js';
import type { Row } from '../../../src/core/dashboard/frame.js';

function row(address: string, of: Partial<Row> = {}): Row {
  const registered = {
    id: address,
    address,
    name: '',
    state: 'up',
    weight: 1,
    zone: '',
    lease: null,
    pause: null,
  } as const;
  return { ...unknownFigures, ...registered, share: null, ...of };
}
const rates = (...perSecond: number[]) =>
  perSecond.map((callsPerSecond, index) => row(`10.0.0.${index}:80`, { callsPerSecond }));

const log = { source: 'log', policy: 'p2c_ewma' } as const;
const clients = { source: 'observers', policy: 'smooth_weighted_round_robin' } as const;

test('a share is of all calls, and unknown where the rate is or nobody calls', () => {
  expect([shareOf(1, 4), shareOf(0, 4), shareOf(null, 4), shareOf(0, 0)]).toEqual([0.25, 0, null, null]);
});

describe('skew', () => {
  test('is that of the busiest over the mean, by weight, of those in rotation', () => {
    expect(skewOf(rates(10, 10, 10), 'weighted_random')).toBe(1);
    expect(skewOf(rates(30, 0, 0), 'weighted_random')).toBe(3);
    expect(
      skewOf([row('a', { callsPerSecond: 30, weight: 3 }), row('b', { callsPerSecond: 10 })], 'weighted_random'),
    ).toBe(1);
    // p2c does not look at weights: what is heavy and gets more has more than its part.
    expect(skewOf([row('a', { callsPerSecond: 30, weight: 3 }), row('b', { callsPerSecond: 10 })], 'p2c_ewma')).toBe(
      1.5,
    );
    expect(skewOf([...rates(10, 10), row('e', { callsPerSecond: 0, health: 'ejected' })], 'p2c_ewma')).toBe(1);
    expect(skewOf([...rates(10, 10), row('p', { callsPerSecond: 0, state: 'paused' })], 'weighted_random')).toBe(1);
    expect(skewOf(rates(0, 0), 'weighted_random')).toBeNull();
    expect(skewOf([], 'weighted_random')).toBeNull();
  });
});

test('weights count where every client goes by them, and nowhere else', () => {
  const rows = [row('a', { callsPerSecond: 30, weight: 3 }), row('b', { callsPerSecond: 10 })];
  for (const policy of ['smooth_weighted_round_robin', 'rendezvous', 'rendezvous, weighted_hash, weighted_random']) {
    expect([policy, skewOf(rows, policy)]).toEqual([policy, 1]);
  }
  for (const policy of ['p2c_ewma, weighted_random', 'consistent_hash', 'my_weighted', '', null]) {
    expect([policy, skewOf(rows, policy)]).toEqual([policy, 1.5]);
  }
});

describe('notices', () => {
  test('name who takes well more than its share', () => {
    expect(balanceNotices(rates(60, 20, 20), log, 60)).toEqual([
      '10.0.0.0:80 takes 60 % of the calls, 1.8 times its share',
    ]);
    expect(balanceNotices(rates(40, 30, 30), log, 60)).toEqual([]);
  });

  test('go by weight where it is known', () => {
    const heavy = row('heavy', { callsPerSecond: 60, weight: 3 });
    expect(balanceNotices([heavy, ...rates(20, 20)], clients, 10)).toEqual([]);
    expect(balanceNotices([{ ...heavy, weight: 1 }, ...rates(20, 20)], clients, 10)).toHaveLength(1);
  });

  test('take no chance for a fault', () => {
    expect(balanceNotices(rates(0.6, 0.2, 0.2), clients, 10)).toEqual([]);
  });

  test('name who has much less load than the others and yet gets no more calls', () => {
    const loaded = (address: string, load: number, callsPerSecond: number) =>
      row(address, { load, callsPerSecond, ewmaMs: load ** 2 / 1e6 });
    const peers = [loaded('a', 2300, 45), loaded('b', 2350, 45), loaded('c', 9000, 10)];
    const [notice, ...others] = balanceNotices([...peers, loaded('f', 1178, 10)], log, 60);
    expect(notice).toMatch(/^f looks as if it failed fast: 9 % of the calls, though its load is 2\.0 times lower/);
    expect(others.filter((other) => other.includes('failed fast'))).toEqual([]);
    // The fastest that gets the most is what one hopes for.
    expect(balanceNotices([...peers, loaded('f', 1178, 60)], log, 60).join()).not.toContain('failed fast');
    // One that has not answered yet looks like nothing; where errors are counted nobody has to guess.
    expect(balanceNotices([...peers, row('n', { load: 1, callsPerSecond: 10 })], log, 60).join()).not.toContain('fast');
    expect(balanceNotices([...peers, loaded('f', 1178, 10)], clients, 60).join()).not.toContain('fast');
  });
});
