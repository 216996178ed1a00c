import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { balanceNotices, shareOf, skewOf } from '../../../src/core/dashboard/balance.js';
import type { Row } from '../../../src/core/dashboard/frame.js';
import { LogStatistics } from '../../../src/core/stats/gozero-log/figures.js';
import type { LoadRange } from '../../../src/core/stats/gozero-log/load.js';
import { GozeroLogReader } from '../../../src/core/stats/gozero-log/reader.js';
import { dashboardRow } from '../../support/dashboard-row.js';

const rates = (...perSecond: number[]) =>
  perSecond.map((callsPerSecond, index) => dashboardRow(`10.0.0.${index}:80`, { callsPerSecond }));

const log = { policy: 'p2c_ewma', loadRange: () => null };
const clients = { policy: 'smooth_weighted_round_robin', loadRange: null };

test('a share is of all calls, and unknown where the rate is or nobody calls', () => {
  expect([shareOf(1, 4), shareOf(0, 4), shareOf(null, 4), shareOf(0, 0)]).toEqual([0.25, 0, null, null]);
});

describe('skew', () => {
  test('is that of the busiest over the mean, by weight, of those in rotation', () => {
    expect(skewOf(rates(10, 10, 10), 'weighted_random')).toBe(1);
    expect(skewOf(rates(30, 0, 0), 'weighted_random')).toBe(3);
    expect(
      skewOf(
        [dashboardRow('a', { callsPerSecond: 30, weight: 3 }), dashboardRow('b', { callsPerSecond: 10 })],
        'weighted_random',
      ),
    ).toBe(1);
    // p2c does not look at weights: what is heavy and gets more has more than its part.
    expect(
      skewOf(
        [dashboardRow('a', { callsPerSecond: 30, weight: 3 }), dashboardRow('b', { callsPerSecond: 10 })],
        'p2c_ewma',
      ),
    ).toBe(1.5);
    expect(skewOf([...rates(10, 10), dashboardRow('e', { callsPerSecond: 0, health: 'ejected' })], 'p2c_ewma')).toBe(1);
    expect(
      skewOf([...rates(10, 10), dashboardRow('p', { callsPerSecond: 0, state: 'paused' })], 'weighted_random'),
    ).toBe(1);
    expect(skewOf(rates(0, 0), 'weighted_random')).toBeNull();
    expect(skewOf([], 'weighted_random')).toBeNull();
  });
});

describe('what cannot be reached, and what has no address,', () => {
  const others = [
    dashboardRow('dead', { callsPerSecond: 0, health: 'unhealthy' }),
    dashboardRow('dying', { callsPerSecond: 1, health: 'unhealthy' }),
    dashboardRow('', { callsPerSecond: 0 }),
  ];

  test('leaves its part to the others', () => {
    expect(skewOf([...rates(30, 30), ...others], 'p2c_ewma')).toBe(1);
    expect(balanceNotices([...rates(30, 30), ...others], clients, 10)).toEqual([]);
  });

  test('is named when it fails, and draws calls by it', () => {
    const hole = dashboardRow('hole', { callsPerSecond: 90, health: 'unhealthy' });
    expect(skewOf([...rates(5, 5), hole], 'p2c_ewma')).toBeCloseTo(2.7);
    expect(balanceNotices([...rates(5, 5), hole], clients, 10)).toEqual([
      'hole takes 90 % of the calls, 2.7 times its share',
    ]);
  });

  test('is no instance to compare with', () => {
    expect(balanceNotices([...rates(30), ...others], clients, 10)).toEqual([]);
  });
});

test('weights count where every client goes by them, and nowhere else', () => {
  const rows = [dashboardRow('a', { callsPerSecond: 30, weight: 3 }), dashboardRow('b', { callsPerSecond: 10 })];
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
    const heavy = dashboardRow('heavy', { callsPerSecond: 60, weight: 3 });
    expect(balanceNotices([heavy, ...rates(20, 20)], clients, 10)).toEqual([]);
    expect(balanceNotices([{ ...heavy, weight: 1 }, ...rates(20, 20)], clients, 10)).toHaveLength(1);
  });

  test('take no chance for a fault', () => {
    expect(balanceNotices(rates(0.6, 0.2, 0.2), clients, 10)).toEqual([]);
  });

  test('name who has much less load than the others and yet gets no more calls', () => {
    const ranges = new Map<string, LoadRange>();
    const loaded = (address: string, lowest: number, callsPerSecond: number, highest = lowest) => {
      ranges.set(address, { lowest, highest });
      return dashboardRow(address, { callsPerSecond });
    };
    const told = { policy: 'p2c_ewma', loadRange: (address: string) => ranges.get(address) ?? null };
    const text = (...rows: Row[]) => balanceNotices(rows, told, 60).join();
    const peers = [loaded('a', 2300, 45), loaded('b', 2350, 45), loaded('c', 9000, 10)];
    const [notice, ...others] = balanceNotices([...peers, loaded('f', 1178, 10)], told, 60);
    expect(notice).toMatch(/^f looks as if it failed fast: 9 % of the calls, though its load is 2\.0 times lower/);
    expect(others.filter((other) => other.includes('failed fast'))).toEqual([]);
    // The fastest that gets the most is what one hopes for.
    expect(text(...peers, loaded('f', 1178, 60))).not.toContain('failed fast');
    // One whose load is not known looks like nothing; where errors are counted nobody has to guess.
    expect(text(...peers, dashboardRow('n', { callsPerSecond: 10 }))).not.toContain('fast');
    expect(balanceNotices([...peers, loaded('f', 1178, 10)], clients, 60).join()).not.toContain('fast');
    // Calls in flight may have made the one load, or not made the others.
    expect(text(...peers, loaded('f', 1178, 10, 2356))).not.toContain('fast');
    expect(text(loaded('a', 1150, 45, 2300), loaded('b', 1175, 45, 2350), loaded('f', 1178, 10))).not.toContain('fast');
  });

  test.each(['json', 'plain'])('name the one that fails fast in the recorded %s log', (encoding) => {
    const statistics = new LogStatistics();
    const bytes = readFileSync(new URL(`../../fixtures/gozero-stat.${encoding}.log`, import.meta.url));
    const accused: string[] = [];
    for (const record of new GozeroLogReader().push('f', bytes)) {
      statistics.add(record);
      const figures = statistics.figures(null);
      const rows = [...figures].map(([address, { callsPerSecond }]) => dashboardRow(address, { callsPerSecond }));
      const loadRange = (address: string) => figures.get(address)?.loadRange ?? null;
      accused.push(balanceNotices(rows, { policy: 'p2c_ewma', loadRange }, 60).join());
    }
    const fast = '127.0.0.1:9404 looks as if it failed fast';
    expect(accused.at(-1)).toContain(fast);
    expect(accused.join().replaceAll(fast, '')).not.toContain('failed fast');
  });

  test('do not take calls in flight for a slow peer, however they fall', () => {
    const line = fc.record({ own: fc.nat(3), peer: fc.nat(3), root: fc.integer({ min: 2000, max: 2800 }) });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 4 }), (lines) => {
        const statistics = new LogStatistics();
        for (const [index, { own, peer, root }] of lines.entries()) {
          const conns = [
            { address: 'own', load: root * (own + 1), reqs: 60 },
            { address: 'peer', load: (root + 1) * (peer + 1), reqs: 600 },
          ];
          statistics.add({ stream: 's', atMs: index * 60_000, conns, isCut: false });
        }
        const figures = statistics.figures(null);
        const rows = [...figures].map(([address, { callsPerSecond }]) => dashboardRow(address, { callsPerSecond }));
        const loadRange = (address: string) => figures.get(address)?.loadRange ?? null;
        expect(balanceNotices(rows, { policy: 'p2c_ewma', loadRange }, 60).join()).not.toContain('failed fast');
      }),
    );
  });
});
