import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Picked } from '../../../src/core/balancer/balancer.js';
import { createBalancer, policyNames } from '../../../src/core/balancer/policies.js';
import { ManualClock } from '../../support/manual-clock.js';
import { seededRng } from '../../support/random.js';

const letters = ['A', 'B', 'C', 'D'];
const counting = policyNames.filter((name) => createBalancer(name).inspect !== undefined);

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('pick' as const) }) },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constantFrom('done' as const, 'abandon' as const), which: fc.nat(50) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('update' as const), set: fc.subarray(letters) }) },
  ),
  { maxLength: 80 },
);

describe('calls in flight', () => {
  it('are counted by every policy that compares them', () => {
    expect(counting).toEqual(['bounded_load', 'p2c_ewma', 'kratos_p2c', 'least_active', 'fastest_response']);
  });

  it.each(counting)('%s counts exactly the open calls of the instances that are there', (name) => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const balancer = createBalancer(name, { rng: seededRng(1), clock: new ManualClock() });
        let set = new Set(letters);
        balancer.update([...set].map((address) => ({ address })));
        // A call whose instance has left counts nowhere, also when an instance of that address comes back.
        const open: Array<{ call: Picked<{ address: string }>; counts: boolean }> = [];
        const ended: Picked<{ address: string }>[] = [];
        for (const [i, step] of sequence.entries()) {
          if (step.do === 'pick' && set.size > 0) open.push({ call: balancer.pick({ key: `k${i}` }), counts: true });
          else if (step.do === 'update') {
            set = new Set(step.set);
            balancer.update(step.set.map((address) => ({ address })));
            for (const entry of open) if (!set.has(entry.call.instance.address)) entry.counts = false;
          } else if (step.do === 'done' || step.do === 'abandon') {
            const [entry] = open.splice(step.which % Math.max(1, open.length), 1);
            if (step.do === 'done') entry?.call.done({ code: step.which % 17 });
            else entry?.call.abandon();
            if (entry) ended.push(entry.call);
          }
          // Ending twice does no harm.
          ended.at(-1)?.done({ code: 0 });
          ended.at(-1)?.abandon();
          for (const view of balancer.inspect?.() ?? []) {
            const expected = open.filter(({ call, counts }) => counts && call.instance.address === view.address).length;
            expect(view.inFlight, `${view.address} after step ${i}`).toBe(expected);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('least_active', () => {
  it('is taken for least_conn', () => {
    const balancer = createBalancer('least_conn');
    balancer.update([{ address: 'A' }]);
    expect(balancer.inspect?.()).toHaveLength(1);
  });

  it('spreads calls in flight evenly, and an idle fleet takes turns', () => {
    const balancer = createBalancer('least_active');
    balancer.update(letters.map((address) => ({ address })));
    const taken = Array.from({ length: 8 }, () => {
      const call = balancer.pick();
      call.done({ code: 0 });
      return call.instance.address;
    });
    expect(taken.join('')).toBe('ABCDABCD');
    for (let i = 0; i < 100; i++) balancer.pick();
    expect(balancer.inspect?.().map(({ inFlight }) => inFlight)).toEqual([25, 25, 25, 25]);
  });
});

describe('fastest_response', () => {
  const latencies: Record<string, number> = { A: 30, B: 5, C: 80 };

  async function share(by: 'ewma' | 'avg' | 'p99', codes: Record<string, number> = {}) {
    const clock = new ManualClock();
    const balancer = createBalancer('fastest_response', { clock, by });
    balancer.update(['A', 'B', 'C'].map((address) => ({ address })));
    const picks: Record<string, number> = { A: 0, B: 0, C: 0 };
    for (let i = 0; i < 100; i++) {
      const call = balancer.pick();
      const { address } = call.instance;
      picks[address] = (picks[address] ?? 0) + 1;
      await clock.advance(latencies[address] ?? 0);
      call.done({ code: codes[address] ?? 0 });
    }
    return picks;
  }

  it.each(['ewma', 'avg', 'p99'] as const)('by %s asks each once and then the fastest', async (by) => {
    expect(await share(by)).toEqual({ A: 1, B: 98, C: 1 });
  });

  it('does not take failing at once for being fast', async () => {
    expect(await share('ewma', { B: 14 })).toEqual({ A: 98, B: 1, C: 1 });
  });

  it('asks a slow one again when its answer is too old to be true, one call at a time', async () => {
    const clock = new ManualClock();
    const balancer = createBalancer('fastest_response', { clock, windowMs: 1000 });
    balancer.update([{ address: 'A' }, { address: 'B' }]);
    for (const ms of [500, 5]) {
      const call = balancer.pick();
      await clock.advance(ms);
      call.done({ code: 0 });
    }
    expect(balancer.pick().instance.address).toBe('B');
    await clock.advance(1001);
    expect([balancer.pick(), balancer.pick()].map(({ instance }) => instance.address).sort()).toEqual(['A', 'B']);
  });
});

describe('kratos_p2c', () => {
  it('takes the node with the greater success per load, and forces one that was not picked for 3 s', async () => {
    const clock = new ManualClock();
    const balancer = createBalancer('kratos_p2c', { clock, rng: seededRng(2) });
    balancer.update([{ address: 'A' }, { address: 'B' }]);
    const call = async (): Promise<string> => {
      const picked = balancer.pick();
      await clock.advance(picked.instance.address === 'A' ? 10 : 400);
      picked.done({ code: 0 });
      return picked.instance.address;
    };
    const first = [await call(), await call()];
    expect(first.sort()).toEqual(['A', 'B']);
    const next = [];
    for (let i = 0; i < 200; i++) next.push(await call());
    expect(next.filter((address) => address === 'A').length).toBe(200);
    await clock.advance(3001);
    expect(await call()).toBe('B');
  });

  it('has the load of its source: penalty without an answer, then root of latency plus 5 ms times calls plus one', async () => {
    const clock = new ManualClock();
    const balancer = createBalancer('kratos_p2c', { clock, rng: seededRng(2) });
    balancer.update([{ address: 'A' }]);
    expect(balancer.inspect?.()[0]?.load).toBe(100_000);
    const call = balancer.pick();
    expect(balancer.inspect?.()[0]?.load).toBe(200_000);
    await clock.advance(20);
    call.done({ code: 0 });
    expect(balancer.inspect?.()[0]?.load).toBe(Math.trunc(Math.sqrt(25e6)));
    // One that is taking longer than the average already counts with its age.
    const slow = balancer.pick();
    await clock.advance(95);
    expect(balancer.inspect?.()[0]?.load).toBe(Math.trunc(Math.sqrt(100e6)) * 2);
    slow.abandon();
    expect(balancer.inspect?.()[0]?.load).toBe(Math.trunc(Math.sqrt(25e6)));
  });
});
