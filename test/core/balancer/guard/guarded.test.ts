import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Balancer, Candidate, PickOptions } from '../../../../src/core/balancer/balancer.js';
import { type BalancerConfig, createConfigured } from '../../../../src/core/balancer/config.js';
import { Guarded } from '../../../../src/core/balancer/guard/guarded.js';
import { policyNames } from '../../../../src/core/balancer/policies.js';
import { RoundRobin } from '../../../../src/core/balancer/round-robin.js';
import { ManualClock } from '../../../support/manual-clock.js';
import { seededRng } from '../../../support/random.js';

const names = ['A', 'B', 'C', 'D', 'E'];
const five = names.map((address) => ({ address }));
const cancelled = 1;
const resourceExhausted = 8;
const internal = 13;

function setUp(config: BalancerConfig | string, set: readonly Candidate[] = five) {
  const clock = new ManualClock();
  const balancer: Balancer = createConfigured(config, { clock, rng: seededRng(5) });
  balancer.update(set);
  let number = 0;
  const call = (codes: Record<string, number> = {}, avoid?: (address: string) => boolean): string => {
    const picked = balancer.pick({ key: `k${number++}`, ...(avoid && { avoid }) });
    picked.done({ code: codes[picked.instance.address] ?? 0 });
    return picked.instance.address;
  };
  const calls = (count: number, codes?: Record<string, number>): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (let i = 0; i < count; i++) {
      const address = call(codes);
      counts[address] = (counts[address] ?? 0) + 1;
    }
    return counts;
  };
  const circuits = () =>
    Object.fromEntries(balancer.inspect?.().map(({ address, circuit }) => [address, circuit]) ?? []);
  return { clock, balancer, call, calls, circuits };
}

describe('health', () => {
  it.each(policyNames)(
    '%s: three failures put an instance out for 10 s, then exactly one call looks',
    async (policy) => {
      const { clock, balancer, calls, circuits } = setUp({ policy });
      // Whoever the policy prefers fails, until it is out.
      const first = balancer.pick({ key: 'k0' });
      first.abandon();
      const ill = first.instance.address;
      for (let i = 0; i < 500 && circuits()[ill] === 'closed'; i++) {
        // fastest_response asks one that has only failed again when its window has passed.
        await clock.advance(policy === 'fastest_response' ? 10_001 : 1);
        calls(1, { [ill]: internal });
      }
      expect(circuits()[ill]).toBe('open');
      expect(calls(500)[ill]).toBeUndefined();
      await clock.advance(9_000);
      expect(calls(500)[ill]).toBeUndefined();
      await clock.advance(1_000);
      expect(circuits()[ill]).toBe('half-open');
      // The probe is under way, and nobody else goes there.
      const open = Array.from({ length: 500 }, (_, i) => balancer.pick({ key: `k${i}` }));
      const probes = open.filter(({ instance }) => instance.address === ill);
      expect(probes).toHaveLength(1);
      probes[0]?.done({ code: internal });
      for (const other of open) other.done({ code: 0 });
      expect(circuits()[ill]).toBe('open');
      await clock.advance(10_000);
      calls(500);
      expect(circuits()[ill]).toBe('closed');
    },
  );

  it('never picks an open instance while half of all are well, and lets one probe at a time, whatever happens', () => {
    const step = fc.record({
      afterMs: fc.constantFrom(0, 10, 3_000),
      code: fc.constantFrom(0, 0, 5, resourceExhausted, internal, 14),
      late: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        fc.constantFrom('round_robin', 'p2c_ewma', 'random'),
        (steps, policy) => {
          const clock = { at: 0, now: () => 0, monotonic: () => clock.at, timer: () => ({ cancel: () => undefined }) };
          const balancer: Balancer = createConfigured(policy, { clock, rng: seededRng(1) });
          balancer.update(five);
          const waiting: Array<{ call: ReturnType<Balancer['pick']>; code: number }> = [];
          const probing = new Map<string, number>();
          for (const { afterMs, code, late } of steps) {
            clock.at += afterMs;
            const before = new Map(balancer.inspect?.().map(({ address, circuit }) => [address, circuit]));
            const ill = [...before.values()].filter((state) => state !== 'closed').length;
            const call = balancer.pick();
            const state = before.get(call.instance.address);
            if (ill * 2 <= names.length) {
              expect(state).not.toBe('open');
              if (state === 'half-open') {
                const last = probing.get(call.instance.address) ?? Number.NEGATIVE_INFINITY;
                expect(clock.at - last).toBeGreaterThanOrEqual(10_000);
              }
            }
            if (state === 'half-open') probing.set(call.instance.address, clock.at);
            if (late) waiting.push({ call, code });
            else {
              call.done({ code });
              probing.delete(call.instance.address);
            }
            if (waiting.length > 3) {
              const oldest = waiting.shift();
              oldest?.call.done({ code: oldest.code });
              probing.delete(oldest?.call.instance.address ?? '');
            }
          }
        },
      ),
    );
  });

  it('ignores health when more than half are open, and comes back by their successes', () => {
    const { balancer, calls, circuits } = setUp('round_robin');
    calls(20, { A: internal, B: internal });
    expect(calls(30)).toEqual({ C: 10, D: 10, E: 10 });
    calls(20, { A: internal, B: internal, C: internal });
    expect(Object.values(circuits()).filter((state) => state === 'open')).toHaveLength(3);
    const open = names.map(() => balancer.pick());
    expect(open.map(({ instance }) => instance.address).sort()).toEqual(names);
    for (const call of open) call.done({ code: 0 });
    expect(new Set(Object.values(circuits()))).toEqual(new Set(['closed']));
  });

  it('an outcome from before the circuit changed is old news', async () => {
    const { clock, balancer, calls, circuits } = setUp('round_robin');
    const early = Array.from({ length: 5 }, () => balancer.pick());
    calls(15, { A: internal });
    expect(circuits().A).toBe('open');
    for (const call of early) call.done({ code: 0 });
    expect(circuits().A).toBe('open');
    await clock.advance(10_000);
    calls(1);
    expect(circuits().A).toBe('closed');
  });

  it('a probe that was never sent, or whose outcome never came, makes room for another', async () => {
    const { clock, balancer, calls } = setUp('round_robin');
    calls(15, { A: internal });
    await clock.advance(10_000);
    const unsent = balancer.pick();
    expect(unsent.instance.address).toBe('A');
    unsent.abandon();
    const lost = balancer.pick();
    expect(lost.instance.address).toBe('A');
    expect(calls(20).A).toBeUndefined();
    await clock.advance(10_000);
    expect(calls(1)).toEqual({ A: 1 });
  });

  it('a call goes to an ejected instance rather than where it has been', () => {
    const { call, calls } = setUp('round_robin', [{ address: 'A' }, { address: 'B' }, { address: 'C' }]);
    calls(9, { A: internal });
    const tried = new Set(['B', 'C']);
    expect(call({}, (address) => tried.has(address))).toBe('A');
  });

  it('a call does not go back to probe where it has been', async () => {
    const { clock, call, calls } = setUp('round_robin');
    calls(15, { A: internal });
    await clock.advance(10_000);
    expect(call({}, (address) => address === 'A')).not.toBe('A');
    expect(call()).toBe('A');
  });

  it('counts failures in a row, and backs off anew after an answer', async () => {
    const { clock, calls, circuits } = setUp('round_robin', [{ address: 'A' }, { address: 'B' }]);
    for (const code of [internal, internal, 0, internal, internal, 0]) calls(2, { A: code });
    expect(circuits().A).toBe('closed');
    calls(2, { A: resourceExhausted });
    await clock.advance(1000);
    calls(2);
    calls(2, { A: resourceExhausted });
    await clock.advance(1000);
    expect(calls(2)).toEqual({ A: 1, B: 1 });
  });

  it('hands the options of a call on as they are while all are well', async () => {
    const seen: Array<PickOptions | undefined> = [];
    const clock = new ManualClock();
    class Watched extends RoundRobin<Candidate> {
      override pick(options?: PickOptions) {
        seen.push(options);
        return super.pick(options);
      }
    }
    const balancer = new Guarded(new Watched(), { health: {}, zone: '' }, clock, seededRng(5));
    balancer.update(five);
    const options = { key: 'k' };
    const last = () => {
      balancer.pick(options).done({ code: 0 });
      return seen.at(-1);
    };
    expect(last()).toBe(options);
    balancer.pick().done({ code: resourceExhausted });
    expect(seen.at(-1)).toBeUndefined();
    expect(last()?.avoid).toBeTypeOf('function');
    await clock.advance(1000);
    expect(last()).toBe(options);
  });

  it('keeps circuits over updates, and forgets them with their instance', () => {
    const { balancer, calls, circuits } = setUp('round_robin');
    calls(15, { A: internal });
    balancer.update([...five].reverse());
    expect(circuits().A).toBe('open');
    balancer.update(five.slice(1));
    balancer.update(five);
    expect(circuits().A).toBe('closed');
  });

  it('a failure that arrives after its instance has left, or left and come back, ejects nobody', async () => {
    const { clock, balancer, calls, circuits } = setUp('round_robin');
    calls(10, { A: internal });
    const [late, later] = Array.from({ length: 10 }, () => balancer.pick()).filter(
      ({ instance }) => instance.address === 'A',
    );
    balancer.update(five.slice(1));
    late?.done({ code: internal });
    await clock.advance(10_000);
    calls(12, { B: internal });
    expect(circuits().B).toBe('open');
    expect(calls(30).B).toBeUndefined();
    balancer.update(five);
    later?.done({ code: internal });
    expect(calls(40).A).toBe(10);
  });

  it('goes to one that has no room right now rather than to one that fails', () => {
    const { calls } = setUp('round_robin', [{ address: 'A' }, { address: 'B' }]);
    calls(6, { A: internal });
    calls(1, { B: resourceExhausted });
    expect(calls(10)).toEqual({ B: 10 });
  });

  it('is not closed by a call that its caller gave up', async () => {
    const { clock, calls, circuits } = setUp('round_robin');
    calls(15, { A: internal });
    await clock.advance(10_000);
    expect(calls(1, { A: cancelled })).toEqual({ A: 1 });
    expect(circuits().A).toBe('half-open');
    expect(calls(1)).toEqual({ A: 1 });
    expect(circuits().A).toBe('closed');
  });

  it.each(['hash', 'weighted_hash', 'consistent_hash', 'maglev', 'rendezvous', 'bounded_load'])(
    '%s: no key leaves its instance to probe another',
    async (policy) => {
      const { clock, balancer, calls, circuits } = setUp(policy);
      const keys = Array.from({ length: 300 }, (_, i) => `user:${i}`);
      const owner = (key: string) => balancer.place?.(key, 0).address;
      calls(100, { A: internal });
      await clock.advance(10_000);
      expect(circuits().A).toBe('half-open');
      for (const key of keys.filter((each) => owner(each) !== 'A')) {
        const picked = balancer.pick({ key });
        picked.abandon();
        expect([key, picked.instance.address]).toEqual([key, owner(key)]);
      }
      const own = keys.find((key) => owner(key) === 'A') ?? '';
      expect(balancer.pick({ key: own }).instance.address).toBe('A');
    },
  );

  it('is off when told so', () => {
    const { calls, balancer } = setUp({ policy: 'round_robin', health: false });
    expect(balancer.inspect).toBeUndefined();
    expect(calls(50, { A: internal }).A).toBe(10);
  });
});

describe('adaptive weights', () => {
  const config = { policy: 'weighted_round_robin', adaptiveWeights: true, health: false } as const;

  it('halve with failures, grow with successes, and stay within 1 and what was declared', () => {
    const { calls } = setUp(config, [
      { address: 'A', weight: 8 },
      { address: 'B', weight: 8 },
    ]);
    calls(200, { A: internal });
    expect(calls(9, { A: internal }).A).toBe(1);
    calls(200);
    expect(calls(16)).toEqual({ A: 8, B: 8 });
  });

  it('go up to 100 when none is declared', () => {
    const { calls } = setUp(config, [{ address: 'A' }, { address: 'B', weight: 1 }]);
    expect(calls(20)).toEqual({ A: 10, B: 10 });
    calls(500, { A: internal });
    const { A = 0 } = calls(1010, { A: internal });
    expect(A).toBeLessThanOrEqual(11);
  });

  it('follow a weight that is declared anew', () => {
    const { balancer, calls } = setUp(config, [
      { address: 'A', weight: 2 },
      { address: 'B', weight: 2 },
    ]);
    balancer.update([
      { address: 'A', weight: 6 },
      { address: 'B', weight: 2 },
    ]);
    expect(calls(8)).toEqual({ A: 6, B: 2 });
  });
});

describe('zones', () => {
  const fleet = (local: number, remote: number): Candidate[] => [
    ...Array.from({ length: local }, (_, i) => ({ address: `local${i}`, zone: 'a' })),
    ...Array.from({ length: remote }, (_, i) => ({ address: `remote${i}`, zone: i % 2 ? 'b' : '' })),
  ];
  const localPart = (counts: Record<string, number>) => {
    const all = Object.entries(counts);
    const sum = (of: typeof all) => of.reduce((total, [, count]) => total + count, 0);
    return sum(all.filter(([address]) => address.startsWith('local'))) / sum(all);
  };

  it.each([
    [10, 10, 0, 1],
    [10, 10, 2, 1],
    [10, 10, 5, 0.7],
    [4, 12, 3, 0.35],
    [4, 12, 4, 0],
    // More than half of all are ill, and still the zone that is well gets the calls.
    [10, 5, 10, 0],
    [8, 2, 6, 0.35],
    [0, 5, 0, 0],
    [5, 0, 2, 1],
  ])('%i local and %i others, %i local ones ill: %f of the calls stay', (local, remote, ill, share) => {
    const { calls } = setUp({ policy: 'round_robin', zone: 'a' }, fleet(local, remote));
    const codes = Object.fromEntries(Array.from({ length: ill }, (_, i) => [`local${i}`, internal]));
    calls(1000, codes);
    const counts = calls(4000, codes);
    // Three standard deviations of 4,000 draws.
    expect(Math.abs(localPart(counts) - share)).toBeLessThanOrEqual(0.024);
    const isPanic = ill * 2 > local + remote;
    // Which of them are asked no longer depends on health in a panic.
    if (!isPanic) for (const address of Object.keys(codes)) expect(counts[address] ?? 0).toBe(0);
  });

  it('stay at home when nobody elsewhere is well either', () => {
    const { calls } = setUp({ policy: 'round_robin', zone: 'a' }, fleet(4, 4));
    const codes = Object.fromEntries(fleet(0, 4).map(({ address }) => [address, internal]));
    const home = Object.fromEntries(fleet(4, 0).map(({ address }) => [address, internal]));
    calls(3000, { ...codes, ...home });
    expect(localPart(calls(100, { ...codes, ...home }))).toBe(1);
  });

  it('share the keys of a zone evenly where few of them go', () => {
    const { calls } = setUp({ policy: 'consistent_hash', zone: 'a' }, fleet(10, 10));
    const codes = Object.fromEntries(Array.from({ length: 3 }, (_, i) => [`local${i}`, internal]));
    calls(3000, codes);
    const counts = calls(20_000, codes);
    // 2 % of the calls leave: 40 for each of the others, were all alike.
    for (const { address } of fleet(0, 10)) expect(counts[address] ?? 0).toBeGreaterThan(12);
  });

  it.each([undefined, ''])('zone %j: no preference', (zone) => {
    const { calls } = setUp({ policy: 'round_robin', ...(zone !== undefined && { zone }) }, [
      { address: 'A', zone: '' },
      { address: 'B', zone: 'b' },
    ]);
    expect(calls(10)).toEqual({ A: 5, B: 5 });
  });

  it('keys stay on their side of the border', () => {
    const { balancer, calls } = setUp({ policy: 'consistent_hash', zone: 'a' }, fleet(10, 10));
    const codes = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`local${i}`, internal]));
    calls(3000, codes);
    for (let i = 0; i < 200; i++) {
      const owners = new Set(Array.from({ length: 5 }, () => balancer.pick({ key: `user:${i}` }).instance.address));
      expect(owners.size).toBe(1);
    }
  });
});
