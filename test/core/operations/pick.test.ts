import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLbctlError } from '../../../src/core/model/errors.js';
import { Picker, type PickRequest } from '../../../src/core/operations/pick.js';
import { parseNodes } from '../../../src/core/operations/pick-nodes.js';
import { seededRng } from '../../support/random.js';
import { NaiveRing } from '../hashing/naive.js';

function picker(nodes: string, request: Partial<PickRequest> = {}): Picker {
  return new Picker({
    policy: 'consistent_hash',
    weightedRing: true,
    groups: [{ service: null, nodes: parseNodes([nodes], '--nodes') }],
    joining: [],
    leaving: [],
    rng: seededRng(1),
    ...request,
  });
}

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (isLbctlError(error)) return error.code;
  }
  return 'nothing was thrown';
}

const users = Array.from({ length: 500 }, (_, i) => `user:${i}`);
const nodesOf = (count: number) => Array.from({ length: count }, (_, i) => `10.0.0.${i}:80`).join();

describe('Picker', () => {
  it.each(['gozero', 'crc32'] as const)('agrees with every recorded owner on the %s ring', (ring) => {
    const vectors = JSON.parse(readFileSync(new URL('../../fixtures/hash.json', import.meta.url), 'utf8')) as Record<
      string,
      Array<{ nodes: string[]; weights?: number[]; picks: Array<{ Key: string; Node: string }> }>
    >;
    let compared = 0;
    for (const { nodes, weights, picks } of vectors[`${ring}_ring`] ?? []) {
      const list = nodes.map((node, i) => (weights ? `${node}=${weights[i]}` : node)).join();
      const some = picker(list, { ring });
      const wrong = picks.filter(({ Key, Node }) => some.pick(Key)[0]?.address !== Node);
      expect(wrong).toEqual([]);
      compared += picks.length;
    }
    expect(compared).toBeGreaterThan(600);
  });

  it('explains a pick by the hash, the point, its virtual node and the next owners', () => {
    expect(picker('a:1,b:1,c:1').pick('user:42')).toEqual([
      {
        key: 'user:42',
        address: 'a:1',
        service: null,
        hash: 'cd01081bf0aa3a68',
        point: 'cdb62d3eecffc842',
        virtualNode: 40,
        next: ['c:1', 'b:1'],
        movedFrom: null,
      },
    ]);
  });

  it('shows the smooth sequence, without anything that is a key’s', () => {
    const some = picker('A=5,B=1,C=1', { policy: 'weighted_round_robin' });
    const picks = Array.from({ length: 7 }, () => some.pick(null)[0]);
    expect(picks.map((pick) => pick?.address).join(' ')).toBe('A A B A C A A');
    expect(picks[0]).toMatchObject({ key: null, hash: null, point: null, virtualNode: null, next: [] });
    expect(some.head).toMatchObject({ policy: 'smooth_weighted_round_robin', ring: null });
    expect(some.totals().distribution).toEqual([
      { address: 'A', picks: 5, share: 5 / 7, service: null },
      { address: 'B', picks: 1, share: 1 / 7, service: null },
      { address: 'C', picks: 1, share: 1 / 7, service: null },
    ]);
  });

  it('moves exactly the keys that a node which leaves or joins must move, and says from where to where', () => {
    const node = fc.constantFrom('a:1', 'b:1', 'c:1', 'd:1');
    fc.assert(
      fc.property(node, fc.constantFrom('gozero' as const, 'crc32' as const), (leaving, ring) => {
        const all = ['a:1', 'b:1', 'c:1', 'd:1'].map((address) => ({ address }));
        const joined = { address: 'new:1' };
        const some = picker('a:1,b:1,c:1,d:1', { ring, leaving: [leaving], joining: [joined] });
        const [before, after] = [all, [...all.filter((n) => n.address !== leaving), joined]].map(
          (set) => new NaiveRing(set, ring),
        );
        let moved = 0;
        for (const key of users.slice(0, 100)) {
          const [from, to] = [before?.owner(key), after?.owner(key)];
          if (from !== to) moved++;
          expect(some.pick(key)[0]).toMatchObject({ address: to, movedFrom: from === to ? null : from });
        }
        const totals = some.totals();
        expect(totals.moved).toBe(moved);
        expect(totals.moves.reduce((sum, move) => sum + move.keys, 0)).toBe(moved);
        for (const move of totals.moves) expect([leaving === move.from, move.to === 'new:1']).toContain(true);
      }),
      { numRuns: 8 },
    );
  });

  it('counts a key that is picked several times as one that moved', () => {
    const some = picker('a:1,b:1', { leaving: ['a:1'] });
    const key = users.find((user) => picker('a:1,b:1').pick(user)[0]?.address === 'a:1') ?? '';
    some.pick(key, 3);
    expect(some.totals()).toMatchObject({ moved: 1, distribution: [{ address: 'b:1', picks: 3 }] });
  });

  it.each(['weighted_hash', 'consistent_hash', 'maglev', 'rendezvous', 'bounded_load'])(
    'only adds up the same when the picks of %s are not wanted',
    (policy) => {
      const [listed, tallied] = [1, 2].map(() => picker('a:1,b:1,c:1', { leaving: ['c:1'], policy }));
      for (const key of users) {
        listed?.pick(key, 2);
        tallied?.tally(key, 2);
      }
      expect(tallied?.totals()).toEqual(listed?.totals());
      expect(
        listed
          ?.totals()
          .distribution.map((row) => row.picks)
          .reduce((a, b) => a + b),
      ).toBe(1000);
      expect(listed?.totals().moved).toBeGreaterThan(100);
    },
  );

  it('has moved nothing to tell of without a change, and without keys', () => {
    const some = picker('a:1,b:1');
    some.pick('k');
    expect(some.totals().moved).toBeNull();
    const sequence = picker('a:1,b:1', { policy: 'round_robin', leaving: ['a:1'] });
    sequence.pick(null);
    expect(sequence.totals()).toMatchObject({ moved: null, distribution: [{ address: 'b:1', picks: 1 }] });
  });

  it('picks in each service by itself', () => {
    const groups = [
      { service: 'one', nodes: [{ address: 'a:1' }, { address: 'b:1' }] },
      { service: 'two', nodes: [{ address: 'c:1' }] },
    ];
    const some = picker('unused', { groups });
    expect(some.pick('k').map((pick) => pick.service)).toEqual(['one', 'two']);
    expect(some.totals().distribution).toContainEqual({ address: 'c:1', picks: 1, share: 1, service: 'two' });
  });

  it('warns on a gozero ring from 33 nodes on, when clients hash over a random 32 each', () => {
    expect(picker(nodesOf(32)).warnings).toEqual([]);
    expect(picker(nodesOf(33)).warnings.join()).toMatch(/33 instances: go-zero clients would disagree/);
    expect(picker(nodesOf(33), { ring: 'crc32' }).warnings).toEqual([]);
    expect(picker(nodesOf(33), { policy: 'hash' }).warnings).toEqual([]);
  });

  it('ignores the weights of a service on the ring and says so, and warns of a mix in a list', () => {
    const weighted = picker('a:1=100,b:1=1', { weightedRing: false });
    expect(weighted.warnings.join()).toMatch(/ring ignores them/);
    const plain = picker('a:1,b:1');
    for (const key of users) expect(weighted.pick(key)[0]?.address).toBe(plain.pick(key)[0]?.address);
    expect(picker('a:1,b:1=5').warnings.join()).toMatch(/none means 100/);
    expect([picker('a:1=5,b:1=5').warnings, picker('a:1,b:1').warnings]).toEqual([[], []]);
  });

  it.each(['hash', 'maglev', 'bounded_load'])('says that %s ignores weights', (policy) => {
    expect(picker('a:1=5,b:1', { policy }).warnings).toEqual([`The list has weights: ${policy} ignores them.`]);
    expect(picker('a:1,b:1', { policy }).warnings).toEqual([]);
    expect(picker('a:1=5,b:1', { policy: 'rendezvous' }).warnings).toEqual([]);
  });

  it('refuses a ring for a policy without one, an unknown policy, and a service without instances', () => {
    expect(codeOf(() => picker('a:1', { policy: 'hash', ring: 'crc32' }))).toBe('USAGE');
    expect(codeOf(() => picker('a:1', { policy: 'nope' }))).toBe('USAGE');
    expect(codeOf(() => picker('x', { groups: [{ service: 's', nodes: [] }] }))).toBe('NO_INSTANCE');
  });
});
