import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Ring, type RingFlavour, type RingNode, ringFlavours } from '../../../src/core/hashing/ring.js';
import { NaiveRing, naiveHash } from './naive.js';

interface RingVector {
  name: string;
  nodes: string[];
  weights?: number[];
  picks: Array<{ Key: string; Node: string }>;
}
const vectors = JSON.parse(readFileSync(new URL('../../fixtures/hash.json', import.meta.url), 'utf8')) as {
  gozero_ring: RingVector[];
  crc32_ring: RingVector[];
};

function nodesOf(vector: RingVector): RingNode[] {
  return vector.nodes.map((address, i) => ({ address, ...(vector.weights && { weight: vector.weights[i] ?? 1 }) }));
}

describe.each<[RingFlavour, RingVector[]]>([
  ['gozero', vectors.gozero_ring],
  ['crc32', vectors.crc32_ring],
])('the %s ring against recorded owners', (flavour, entries) => {
  it.each(entries)('$name: every key has the owner that was recorded', (vector) => {
    const ring = new Ring(nodesOf(vector), flavour);
    const wrong = vector.picks.filter((pick) => ring.owner(pick.Key) !== pick.Node);
    expect(wrong).toEqual([]);
    expect(vector.picks.length).toBeGreaterThan(10);
  });
});

/** Mostly addresses that continue each other with digits, so that address + index of two or three meet on one point. */
const address = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('1', '11', '111', '2', '21', 'h:8', 'h:80', 'h:808', 'h:81') },
  { weight: 1, arbitrary: fc.string({ minLength: 1 }) },
);
const nodes = fc.uniqueArray(
  fc.oneof(fc.record({ address }), fc.record({ address, weight: fc.integer({ min: -1, max: 120 }) })),
  { selector: (node) => node.address, minLength: 1, maxLength: 8 },
);
const flavour = fc.constantFrom(...ringFlavours);
/** Keys that spell a virtual node hash to exactly its point. */
const key = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('111', '211', '119', 'h:8080', 'h:8081'));
const keys = fc.array(key, { minLength: 1, maxLength: 10 });

describe('Ring', () => {
  it('equals the naive model for any nodes, weights, replicas and keys, in any order of adding', () => {
    let shared = 0;
    fc.assert(
      fc.property(nodes, flavour, fc.integer({ min: 1, max: 130 }), keys, (set, kind, replicas, all) => {
        const naive = new NaiveRing(set, kind, replicas);
        const ring = new Ring([...set].reverse(), kind, replicas);
        shared += naive.sharedPoints;
        for (const key of all) expect(ring.owner(key)).toBe(naive.owner(key));
      }),
    );
    expect(shared).toBeGreaterThan(100);
  });

  it('names as next owners whoever owns the key once those before have left', () => {
    fc.assert(
      fc.property(nodes, flavour, keys, (set, kind, all) => {
        // With 130 virtual nodes three addresses can share a point: 1+11x, 11+1x, 111+x.
        const ring = new Ring(set, kind, 130);
        for (const key of all) {
          const owners = ring.owners(key, set.length);
          expect(new Set(owners).size).toBe(set.length);
          for (const [index, owner] of owners.entries()) {
            const gone = owners.slice(0, index);
            const left = set.filter((node) => !gone.includes(node.address));
            expect(owner).toBe(new NaiveRing(left, kind, 130).owner(key));
          }
          expect(ring.owners(key, 2)).toEqual(owners.slice(0, 2));
        }
      }),
      { numRuns: 40 },
    );
  });

  it('explains a lookup by a virtual node of the owner that really sits at the point', () => {
    fc.assert(
      fc.property(nodes, flavour, key, (set, kind, key) => {
        const ring = new Ring(set, kind);
        const found = ring.lookup(key);
        expect(found?.address).toBe(ring.owner(key));
        const digits = kind === 'gozero' ? 16 : 8;
        const name =
          kind === 'gozero' ? `${found?.address}${found?.virtualNode}` : `${found?.virtualNode}${found?.address}`;
        expect(found?.hash).toBe(naiveHash(key, kind).toString(16).padStart(digits, '0'));
        expect(found?.point).toBe(naiveHash(name, kind).toString(16).padStart(digits, '0'));
      }),
    );
  });

  it('counts an address that came twice once', () => {
    const twice = new Ring([{ address: 'a:1' }, { address: 'b:1' }, { address: 'a:1', weight: 1 }], 'gozero');
    expect(twice.owners('k', 9).sort()).toEqual(['a:1', 'b:1']);
    const once = new Ring([{ address: 'a:1' }, { address: 'b:1' }], 'gozero');
    for (let i = 0; i < 200; i++) expect(twice.owner(`k${i}`)).toBe(once.owner(`k${i}`));
  });

  it('has no owner without nodes', () => {
    const empty = new Ring([], 'gozero');
    expect([empty.owner('k'), empty.lookup('k'), empty.owners('k', 3)]).toEqual([null, null, []]);
  });

  it('gives an address that carries no weight the share of a full one', () => {
    const ring = new Ring([{ address: 'a:1' }, { address: 'b:1', weight: 10 }], 'gozero');
    let light = 0;
    for (let i = 0; i < 10_000; i++) if (ring.owner(`user:${i}`) === 'b:1') light++;
    expect(light / 10_000).toBeGreaterThan(0.04);
    expect(light / 10_000).toBeLessThan(0.16);
  });
});
