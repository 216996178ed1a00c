import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Balancer, Candidate } from '../../../src/core/balancer/balancer.js';
import { createBalancer, policyNamed, policyNames } from '../../../src/core/balancer/policies.js';
import { Ring } from '../../../src/core/hashing/ring.js';
import { LbctlError } from '../../../src/core/model/errors.js';
import { ManualClock } from '../../support/manual-clock.js';
import { chiSquareLimit, seededRng } from '../../support/random.js';

const abc = weighted({ A: 1, B: 2, C: 3 });
const needKey = ['hash', 'weighted_hash', 'consistent_hash', 'maglev', 'rendezvous', 'bounded_load'];

function weighted(weights: Record<string, number>): Candidate[] {
  return Object.entries(weights).map(([address, weight]) => ({ address, weight }));
}

function balancer(name: string, instances: readonly Candidate[], seed = 1): Balancer {
  // Time stands still: what a policy answers must not depend on how fast the machine is.
  const created = createBalancer(name, { rng: seededRng(seed), clock: new ManualClock() });
  created.update(instances);
  return created;
}

function sequence(of: Balancer, n: number): string {
  return Array.from({ length: n }, () => of.pick().instance.address).join(' ');
}

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof LbctlError) return error.code;
  }
  return 'nothing was thrown';
}

/** Any set of instances: addresses distinct, weights also missing, zero and negative. */
const sets = fc.uniqueArray(
  fc.oneof(
    fc.record({ address: fc.string({ minLength: 1, maxLength: 4 }) }),
    fc.record({ address: fc.string({ minLength: 1, maxLength: 4 }), weight: fc.integer({ min: -2, max: 20 }) }),
  ),
  { selector: (instance) => instance.address, minLength: 1, maxLength: 10 },
);
const effective = (instance: Candidate) => Math.max(1, instance.weight ?? 1);
const byAddress = (set: readonly Candidate[]) => [...set].sort((a, b) => (a.address < b.address ? -1 : 1));
const expanded = (set: readonly Candidate[]) => set.flatMap((i) => Array<string>(effective(i)).fill(i.address));

describe('every policy', () => {
  it.each(policyNames)('%s answers NO_INSTANCE on an empty set, before and after it had instances', (name) => {
    const empty = createBalancer(name, { rng: seededRng(1) });
    expect(codeOf(() => empty.pick({ key: 'k' }))).toBe('NO_INSTANCE');
    empty.update(abc);
    expect(['A', 'B', 'C']).toContain(empty.pick({ key: 'k' }).instance.address);
    empty.update([]);
    expect(codeOf(() => empty.pick({ key: 'k' }))).toBe('NO_INSTANCE');
  });

  it.each(policyNames)('%s counts an address that came twice once', (name) => {
    const twice = balancer(name, [...abc, { address: 'A', weight: 50 }]);
    const once = balancer(name, abc);
    for (let i = 0; i < 200; i++) {
      expect(twice.pick({ key: `k${i}` }).instance).toEqual(once.pick({ key: `k${i}` }).instance);
    }
  });

  it.each(policyNames)('%s goes on as if nothing had happened after an update with the same set', (name) => {
    const updated = balancer(name, abc);
    const undisturbed = balancer(name, abc);
    for (let i = 0; i < 50; i++) {
      updated.update(abc.map((instance) => ({ ...instance })));
      expect(updated.pick({ key: `k${i}` }).instance).toEqual(undisturbed.pick({ key: `k${i}` }).instance);
    }
  });

  it.each(policyNames)('%s lets done be called again, and after the instance has left', (name) => {
    const some = balancer(name, abc);
    const call = some.pick({ key: 'k' });
    some.update([{ address: 'D' }]);
    call.done({ code: 0 });
    call.done({ code: 14 });
    call.abandon();
    expect(some.pick({ key: 'k' }).instance.address).toBe('D');
  });

  it.each(policyNames)('%s hands back the instance object of the last update', (name) => {
    const some = balancer(name, abc);
    const renewed = abc.map((instance) => ({ ...instance, zone: 'b' }));
    some.update(renewed);
    expect(renewed).toContain(some.pick({ key: 'k' }).instance);
  });

  it.each(policyNames)('%s asks for a key exactly when it hashes one', (name) => {
    const outcome = codeOf(() => balancer(name, abc).pick());
    expect(outcome).toBe(needKey.includes(name) ? 'INVALID_ARGUMENT' : 'nothing was thrown');
    expect(codeOf(() => balancer(name, abc).pick({ key: '' }))).toBe('nothing was thrown');
  });
});

describe('the table of names', () => {
  it('takes weighted_round_robin for the smooth one', () => {
    expect(policyNamed('weighted_round_robin')).toBe('smooth_weighted_round_robin');
  });

  it.each(['p2c', '', 'Random', 'toString', '__proto__'])('answers "%s" with USAGE and the names there are', (name) => {
    const failure = (() => {
      try {
        createBalancer(name, { rng: seededRng(1) });
      } catch (error) {
        return error as LbctlError;
      }
    })();
    expect(failure?.code).toBe('USAGE');
    for (const known of [...policyNames, 'weighted_round_robin']) expect(failure?.suggestions.join()).toContain(known);
  });
});

describe('round robins', () => {
  it('show the sequences everybody knows', () => {
    expect(sequence(balancer('round_robin', abc), 7)).toBe('A B C A B C A');
    expect(sequence(balancer('plain_weighted_round_robin', abc), 7)).toBe('A B B C C C A');
    const smooth = balancer('weighted_round_robin', weighted({ A: 5, B: 1, C: 1 }));
    expect(sequence(smooth, 14)).toBe('A A B A C A A A A B A C A A');
  });

  it('round_robin is counter mod n', () => {
    fc.assert(
      fc.property(sets, (set) => {
        const picks = sequence(balancer('round_robin', set), 25);
        expect(picks).toBe(Array.from({ length: 25 }, (_, i) => set[i % set.length]?.address).join(' '));
      }),
    );
  });

  it('plain_weighted_round_robin is counter mod total into the expanded list', () => {
    fc.assert(
      fc.property(sets, (set) => {
        const list = expanded(set);
        const picks = sequence(balancer('plain_weighted_round_robin', set), 300);
        expect(picks).toBe(Array.from({ length: 300 }, (_, i) => list[i % list.length]).join(' '));
      }),
    );
  });

  it('smooth_weighted_round_robin gives each its weight in every round, spread as the rule says', () => {
    fc.assert(
      fc.property(sets, (set) => {
        const total = set.reduce((sum, i) => sum + effective(i), 0);
        const currents = set.map(() => 0);
        const expected = Array.from({ length: 2 * total }, () => {
          for (const [i, instance] of set.entries()) currents[i] = (currents[i] ?? 0) + effective(instance);
          const winner = currents.indexOf(Math.max(...currents));
          currents[winner] = (currents[winner] ?? 0) - total;
          return set[winner]?.address;
        });
        expect(sequence(balancer('smooth_weighted_round_robin', set), 2 * total)).toBe(expected.join(' '));
        expect(expected.slice(0, total)).toEqual(expected.slice(total));
      }),
    );
  });

  it('smooth_weighted_round_robin keeps what instances that stay have earned when another joins', () => {
    const smooth = balancer('smooth_weighted_round_robin', weighted({ A: 5, B: 1, C: 1 }));
    // Currents are then A 1, B -4, C 3; from nothing it would be A A B.
    expect(sequence(smooth, 3)).toBe('A A B');
    smooth.update(weighted({ A: 5, B: 1, C: 1, D: 1 }));
    expect(sequence(smooth, 5)).toBe('A C A A D');
  });

  it('smooth_weighted_round_robin starves nobody after weights fell, whatever happened before', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(sets, fc.integer({ min: 0, max: 30 })), { maxLength: 4 }),
        sets,
        (history, last) => {
          const smooth = balancer('smooth_weighted_round_robin', weighted({ a: 5000, b: 1, c: 1 }));
          sequence(smooth, 2600);
          for (const [set, picks] of history) {
            smooth.update(set);
            sequence(smooth, picks);
          }
          smooth.update(last);
          const total = last.reduce((sum, i) => sum + effective(i), 0);
          const seen = new Set(sequence(smooth, 3 * total + last.length).split(' '));
          for (const instance of last) if (!instance.address.includes(' ')) expect(seen).toContain(instance.address);
        },
      ),
    );
  });
});

describe('random policies, on a seeded generator', () => {
  it.each([
    ['random', [1, 1, 1, 1, 1]],
    ['weighted_random', [1, 2, 3, 10, 84]],
  ])('%s passes chi-square', (name, shares) => {
    const set = shares.map((_, i) => ({ address: `n${i}`, weight: [1, 2, 3, 10, 84][i] ?? 1 }));
    const total = shares.reduce((sum, share) => sum + share, 0);
    const draws = 100_000;
    const some = balancer(name, set, 42);
    const counts = new Map<string, number>();
    for (let i = 0; i < draws; i++) {
      const { address } = some.pick().instance;
      counts.set(address, (counts.get(address) ?? 0) + 1);
    }
    const chiSquare = shares.reduce((sum, share, i) => {
      const expected = (draws * share) / total;
      return sum + ((counts.get(`n${i}`) ?? 0) - expected) ** 2 / expected;
    }, 0);
    expect(chiSquare).toBeLessThan(chiSquareLimit[4]);
  });
});

describe('hash policies', () => {
  const keys = fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 20 });

  it('hash is crc32 mod n and weighted_hash crc32 mod total, whatever order the set came in', () => {
    fc.assert(
      fc.property(sets, keys, (set, all) => {
        const plain = balancer('hash', [...set].reverse());
        const byWeight = balancer('weighted_hash', [...set].reverse());
        const list = expanded(byAddress(set));
        for (const key of all) {
          const hash = crc32(Buffer.from(key));
          expect(plain.pick({ key }).instance.address).toBe(byAddress(set)[hash % set.length]?.address);
          expect(byWeight.pick({ key }).instance.address).toBe(list[hash % list.length]);
        }
      }),
    );
  });

  it('consistent_hash is the owner on the ring, without weights unless they are asked for', () => {
    fc.assert(
      fc.property(sets, sets, keys, fc.boolean(), (before, set, all, weightedRing) => {
        const some = createBalancer('consistent_hash', { rng: seededRng(1), weightedRing });
        some.update([...set, ...before]);
        some.update(set);
        const ring = new Ring(weightedRing ? set : set.map(({ address }) => ({ address })), 'gozero');
        for (const key of all) expect(some.pick({ key }).instance.address).toBe(ring.owner(key));
      }),
    );
  });

  it('consistent_hash follows a change of nothing but a weight', () => {
    const some = createBalancer('consistent_hash', { rng: seededRng(1), weightedRing: true });
    some.update(weighted({ A: 100, B: 100 }));
    some.update(weighted({ A: 1, B: 100 }));
    const ofA = Array.from({ length: 1000 }, (_, i) => some.pick({ key: `k${i}` })).filter(
      (pick) => pick.instance.address === 'A',
    );
    expect(ofA.length).toBeLessThan(100);
  });

  it.each(needKey)('%s places a key where it picks', (name) => {
    const some = balancer(name, abc);
    for (let i = 0; i < 100; i++) {
      const picked = some.pick({ key: `k${i}` });
      expect(some.place?.(`k${i}`, 1).address).toBe(picked.instance.address);
      // bounded_load goes elsewhere while the owner is full.
      picked.done({ code: 0 });
    }
  });

  it.each(['consistent_hash', 'rendezvous', 'bounded_load'])(
    '%s names as next who has the key once others left',
    (name) => {
      const set = ['A', 'B', 'C', 'D', 'E'].map((address, i) => ({ address, weight: i + 1 }));
      for (let i = 0; i < 50; i++) {
        const key = `k${i}`;
        const placement = balancer(name, set).place?.(key, 9);
        const order = [placement?.address, ...(placement?.next ?? [])];
        expect(order.length).toBe(set.length);
        for (const [gone, heir] of order.entries()) {
          const left = set.filter(({ address }) => !order.slice(0, gone).includes(address));
          expect(balancer(name, left).pick({ key }).instance.address).toBe(heir);
        }
      }
    },
  );

  it('consistent_hash names the next owners, as many as were asked for', () => {
    const some = balancer('consistent_hash', abc);
    const placement = some.place?.('user:42', 5);
    expect([placement?.address, ...(placement?.next ?? [])].sort()).toEqual(['A', 'B', 'C']);
    expect(some.place?.('user:42', 1).next).toEqual(placement?.next.slice(0, 1));
    expect(some.place?.('user:42', 0).next).toEqual([]);
  });
});
