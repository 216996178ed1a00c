import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createBalancer } from '../../../src/core/balancer/policies.js';
import { rendezvousSubset, shuffleSubset } from '../../../src/core/balancer/subset.js';
import { LbctlError } from '../../../src/core/model/errors.js';
import { seededRng } from '../../support/random.js';
import { naiveHash } from '../hashing/naive.js';

const nodes = (count: number) => Array.from({ length: count }, (_, i) => ({ address: `10.0.0.${i}:8080` }));
const keys = Array.from({ length: 10_000 }, (_, i) => `user:${i}`);

function owners(name: string, set: readonly { address: string; weight?: number }[], options = {}): string[] {
  const balancer = createBalancer(name, options);
  balancer.update(set);
  return keys.map((key) => {
    const call = balancer.pick({ key });
    call.done({ code: 0 });
    return call.instance.address;
  });
}

const shares = (of: readonly string[]) => {
  const counts = new Map<string, number>();
  for (const address of of) counts.set(address, (counts.get(address) ?? 0) + 1);
  return counts;
};

/** The pseudocode of section 3.4; offset and skip come from the halves of one hash. */
function naiveMaglev(addresses: readonly string[], size: number): (string | undefined)[] {
  const permutation = addresses.map((address) => {
    const hash = naiveHash(address, 'gozero');
    const offset = Number(hash >> 32n) % size;
    const skip = (Number(hash & 0xffffffffn) % (size - 1)) + 1;
    return Array.from({ length: size }, (_, j) => (offset + j * skip) % size);
  });
  const entry: (string | undefined)[] = Array(size).fill(undefined);
  while (entry.includes(undefined)) {
    for (const [i, address] of addresses.entries()) {
      const slot = permutation[i]?.find((candidate) => entry[candidate] === undefined);
      if (slot !== undefined) entry[slot] = address;
    }
  }
  return entry;
}

describe('hashing policies', () => {
  it.each(['consistent_hash', 'rendezvous', 'bounded_load'])('%s moves no key between instances that stay', (name) => {
    const before = owners(name, nodes(10));
    const after = owners(name, nodes(11));
    const joined = nodes(11).at(-1)?.address;
    for (const [i, owner] of after.entries()) if (owner !== joined) expect(owner).toBe(before[i]);
    expect(after.filter((owner) => owner === joined).length).toBeGreaterThan(keys.length / 11 / 2);
  });

  it('maglev moves few keys between instances that stay, and shares the keys almost evenly', () => {
    const before = owners('maglev', nodes(10));
    const after = owners('maglev', nodes(11));
    const joined = nodes(11).at(-1)?.address;
    const moved = after.filter((owner, i) => owner !== joined && owner !== before[i]).length;
    expect(moved).toBeLessThan(keys.length * 0.03);
    for (const count of shares(before).values()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });

  it('maglev fills its table as the paper says, and the hash of the key modulo its size is the slot', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 9 }),
        fc.constantFrom(11, 101, 251),
        (addresses, tableSize) => {
          const table = naiveMaglev([...addresses].sort(), tableSize);
          const balancer = createBalancer('maglev', { tableSize });
          balancer.update(addresses.map((address) => ({ address })));
          for (const key of keys.slice(0, 50)) {
            const slot = Number(naiveHash(key, 'gozero') % BigInt(tableSize));
            expect(balancer.pick({ key }).instance.address).toBe(table[slot]);
          }
        },
      ),
    );
  });

  it.each(['maglev', 'rendezvous', 'bounded_load'])('%s agrees on owners whatever order the set came in', (name) => {
    expect(owners(name, nodes(20).reverse())).toEqual(owners(name, nodes(20)));
  });

  it('rendezvous gives shares in proportion to the weights, and moves only to what became heavier', () => {
    const [a = { address: '' }, b = { address: '' }] = nodes(2);
    const before = owners('rendezvous', [
      { ...a, weight: 1 },
      { ...b, weight: 1 },
    ]);
    const after = owners('rendezvous', [
      { ...a, weight: 1 },
      { ...b, weight: 3 },
    ]);
    const share = (shares(after).get(b.address) ?? 0) / keys.length;
    // Three standard deviations of 10,000 draws at 3/4.
    expect(Math.abs(share - 0.75)).toBeLessThan(0.013);
    for (const [i, owner] of after.entries()) if (before[i] === b.address) expect(owner).toBe(b.address);
  });

  it('bounded_load lets no instance have more than its factor of the mean, however hot a key is', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.double({ min: 1.01, max: 3, noNaN: true }),
        fc.array(fc.nat(3), { minLength: 1, maxLength: 200 }),
        (count, loadFactor, hot) => {
          const balancer = createBalancer('bounded_load', { loadFactor });
          balancer.update(nodes(count));
          for (const [i, key] of hot.entries()) {
            balancer.pick({ key: `k${key}` });
            const most = Math.ceil((loadFactor * (i + 1)) / count);
            const busiest = Math.max(...(balancer.inspect?.() ?? []).map(({ inFlight }) => inFlight ?? 0));
            expect(busiest).toBeLessThanOrEqual(most);
          }
        },
      ),
    );
  });

  it.each([
    ['maglev', { tableSize: 100 }, 'prime'],
    ['maglev', { tableSize: 0 }, 'prime'],
    ['maglev', { tableSize: 1_048_583 }, 'prime below 2^20'],
    ['bounded_load', { loadFactor: 1 }, 'above 1'],
    ['bounded_load', { loadFactor: Number.NaN }, 'above 1'],
  ])('%s refuses %j and says what works', (name, options, words) => {
    expect(() => createBalancer(name, options)).toThrow(LbctlError);
    expect(() => createBalancer(name, options)).toThrow(words);
  });
});

describe('subsets', () => {
  const addresses = (of: readonly { address: string }[]) => of.map(({ address }) => address).sort();

  it('a change of one instance changes at most one entry of a client', () => {
    const fleet = nodes(100);
    const before = addresses(rendezvousSubset(fleet, 'client-1'));
    expect(before).toHaveLength(32);
    for (const [i, left] of fleet.entries()) {
      const after = addresses(rendezvousSubset(fleet.toSpliced(i, 1), 'client-1'));
      const gone = before.filter((address) => !after.includes(address));
      expect(gone).toEqual(before.includes(left.address) ? [left.address] : []);
    }
  });

  it('covers all instances alike over many clients', () => {
    const counts = new Map(nodes(100).map(({ address }) => [address, 0]));
    for (let client = 0; client < 1000; client++) {
      for (const address of addresses(rendezvousSubset(nodes(100), `client-${client}`))) {
        counts.set(address, (counts.get(address) ?? 0) + 1);
      }
    }
    // 320 expected, standard deviation 14.8.
    for (const count of counts.values()) expect(Math.abs(count - 320)).toBeLessThan(60);
  });

  it('shuffle draws anew, of all, as many as it should', () => {
    const rng = seededRng(1);
    const counts = new Map<string, number>();
    for (let i = 0; i < 1000; i++) {
      const drawn = addresses(shuffleSubset(nodes(50), rng));
      expect(new Set(drawn).size).toBe(32);
      for (const address of drawn) counts.set(address, (counts.get(address) ?? 0) + 1);
    }
    expect(counts.size).toBe(50);
    for (const count of counts.values()) expect(Math.abs(count - 640)).toBeLessThan(75);
    expect(addresses(shuffleSubset(nodes(3), rng))).toEqual(addresses(nodes(3)));
  });
});
