import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Candidate } from '../../../src/core/balancer/balancer.js';
import { createBalancer, type PolicyName, policyNames } from '../../../src/core/balancer/policies.js';
import { ManualClock } from '../../support/manual-clock.js';
import { seededRng } from '../../support/random.js';

const letters = [...'ABCDEFGH'];
const sets = fc.uniqueArray(
  fc.record({ address: fc.constantFrom(...letters), weight: fc.integer({ min: 1, max: 9 }) }),
  {
    selector: ({ address }) => address,
    minLength: 1,
  },
);

function over(name: PolicyName, set: readonly Candidate[]) {
  const balancer = createBalancer(name, { rng: seededRng(3), clock: new ManualClock() });
  balancer.update(set);
  return balancer;
}

describe('avoid', () => {
  it.each(policyNames)('%s never picks who is to be avoided while another is left, and any when none is', (name) => {
    fc.assert(
      fc.property(sets, fc.subarray(letters), (set, avoided) => {
        const balancer = over(name, set);
        const left = set.filter(({ address }) => !avoided.includes(address));
        const allowed = (left.length === 0 ? set : left).map(({ address }) => address);
        for (let i = 0; i < 30; i++) {
          const avoid = (address: string) => avoided.includes(address);
          const call = balancer.pick({ key: `k${i}`, avoid });
          expect(allowed).toContain(call.instance.address);
          if (i % 2 === 0) call.done({ code: 0 });
        }
      }),
      { numRuns: 40 },
    );
  });

  it.each(policyNames)('%s picks as ever when there is nobody to avoid, or nobody else', (name) => {
    fc.assert(
      fc.property(sets, fc.boolean(), (set, all) => {
        const avoiding = over(name, set);
        const plain = over(name, set);
        for (let i = 0; i < 30; i++) {
          const [call, other] = [avoiding.pick({ key: `k${i}`, avoid: () => all }), plain.pick({ key: `k${i}` })];
          expect(call.instance.address).toBe(other.instance.address);
          if (i % 3 === 0) for (const each of [call, other]) each.done({ code: 0 });
        }
      }),
      { numRuns: 25 },
    );
  });

  // These have no state that a pick of before could have changed: avoiding is the same as having left.
  it.each(['hash', 'weighted_hash', 'consistent_hash', 'rendezvous'] as const)(
    '%s picks as if they had left',
    (name) => {
      fc.assert(
        fc.property(sets, fc.subarray(letters), (set, avoided) => {
          const left = set.filter(({ address }) => !avoided.includes(address));
          fc.pre(left.length > 0);
          const avoiding = over(name, set);
          const without = over(name, left);
          for (let i = 0; i < 30; i++) {
            const key = `k${i}`;
            const { instance } = avoiding.pick({ key, avoid: (address) => avoided.includes(address) });
            expect(instance.address).toBe(without.pick({ key }).instance.address);
          }
        }),
        { numRuns: 40 },
      );
    },
  );

  it.each([
    ['round_robin', { A: 100, B: 100, C: 0 }],
    ['plain_weighted_round_robin', { A: 50, B: 150, C: 0 }],
    ['smooth_weighted_round_robin', { A: 50, B: 150, C: 0 }],
    ['least_active', { A: 100, B: 100, C: 0 }],
  ] as const)('%s keeps the proportions among those that are left, and takes back who returns', (name, expected) => {
    const balancer = over(name, [
      { address: 'A', weight: 1 },
      { address: 'B', weight: 3 },
      { address: 'C', weight: 4 },
    ]);
    const picks = { A: 0, B: 0, C: 0 };
    const count = (avoid?: (address: string) => boolean) => {
      const call = balancer.pick(avoid ? { avoid } : {});
      picks[call.instance.address as 'A']++;
      call.done({ code: 0 });
    };
    for (let i = 0; i < 200; i++) count((address) => address === 'C');
    expect(picks).toEqual(expected);
    for (let i = 0; i < 400; i++) count();
    expect(picks.C).toBeGreaterThan(100);
  });

  it('smooth_weighted_round_robin gives each its share again, whatever was avoided for however long before', () => {
    fc.assert(
      fc.property(
        sets,
        fc.array(fc.tuple(fc.subarray(letters), fc.integer({ min: 1, max: 60 })), { maxLength: 6 }),
        (set, history) => {
          const balancer = over('smooth_weighted_round_robin', set);
          for (const [avoided, picks] of history) {
            for (let i = 0; i < picks; i++) balancer.pick({ avoid: (address) => avoided.includes(address) });
          }
          const total = set.reduce((sum, { weight = 1 }) => sum + weight, 0);
          const counts = new Map<string, number>();
          for (let i = 0; i < 20 * total; i++) {
            const { address } = balancer.pick().instance;
            counts.set(address, (counts.get(address) ?? 0) + 1);
          }
          // What somebody is owed from before is a few picks, not as many as were made without it.
          for (const { address, weight = 1 } of set) {
            expect(Math.abs((counts.get(address) ?? 0) - 20 * weight)).toBeLessThanOrEqual(set.length);
          }
        },
      ),
    );
  });

  it('round_robin sends the retries of a dead instance to all others alike', () => {
    const balancer = over('round_robin', [{ address: 'A' }, { address: 'B' }, { address: 'C' }]);
    const answered = { A: 0, B: 0, C: 0 };
    for (let i = 0; i < 100; i++) {
      let { address } = balancer.pick().instance;
      if (address === 'A') address = balancer.pick({ avoid: (tried) => tried === 'A' }).instance.address;
      answered[address as 'A']++;
    }
    expect(answered).toEqual({ A: 0, B: 50, C: 50 });
  });

  it('round_robin lets instances that join queue behind, and keeps the turns of those that stay', () => {
    const balancer = over('round_robin', [{ address: 'A' }, { address: 'B' }, { address: 'C' }]);
    balancer.pick();
    balancer.update([{ address: 'D' }, { address: 'A' }, { address: 'C' }]);
    const picks = Array.from({ length: 4 }, () => balancer.pick().instance.address);
    expect(picks.join('')).toBe('CADC');
  });

  it('pick_first moves to the next one, and stays there', () => {
    const balancer = over('pick_first', [{ address: 'A' }, { address: 'B' }, { address: 'C' }]);
    expect(balancer.pick().instance.address).toBe('A');
    expect(balancer.pick({ avoid: (address) => address === 'A' }).instance.address).toBe('B');
    expect(balancer.pick().instance.address).toBe('B');
    balancer.update([{ address: 'A' }, { address: 'C' }]);
    expect(balancer.pick().instance.address).toBe('A');
  });
});
