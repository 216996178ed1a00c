import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Picked } from '../../../src/core/balancer/balancer.js';
import { P2cEwma } from '../../../src/core/balancer/p2c-ewma.js';
import { chiSquareLimit, seededRng } from '../../support/random.js';
import { settableClock } from './settable-clock.js';

interface Pick {
  readonly t: string;
  readonly op: 'pick';
  readonly draws: readonly (readonly [bound: number, value: number])[];
  readonly cand: readonly (readonly [node: number, load: number])[];
  readonly node: number;
}

interface Done {
  readonly t: string;
  readonly op: 'done';
  readonly call: number;
  readonly code: number;
  readonly lag: number;
  readonly success: number;
  readonly inflight: number;
  readonly load: number;
  readonly stat?: string;
}

interface Trace {
  readonly name: string;
  readonly n: number;
  readonly base: string;
  readonly exact: boolean;
  readonly events: readonly (Pick | Done)[];
}

const { traces } = JSON.parse(readFileSync(new URL('../../fixtures/p2c.json', import.meta.url), 'utf8')) as {
  traces: readonly Trace[];
};

const named = (n: number) => Array.from({ length: n }, (_, i) => ({ address: `n${i}` }));

describe('p2c_ewma replays what the picker of go-zero did', () => {
  it.each(traces.map((trace) => [trace.name, trace] as const))('trace %s', (_, { n, base, exact, events }) => {
    const clock = settableClock();
    const draws: Array<readonly [number, number]> = [];
    const lines: string[] = [];
    const rng = () => {
      const [bound, value] = draws.shift() ?? [1, Number.NaN];
      return (value + 0.5) / bound;
    };
    const policy = new P2cEwma(clock, rng, (line) => lines.push(line));
    policy.update(named(n));
    const calls: Picked<{ address: string }>[] = [];
    for (const [index, event] of events.entries()) {
      clock.ns = Number(BigInt(event.t) - BigInt(base));
      const where = `event ${index}`;
      const view = (node: number) => policy.inspect()[node];
      if (event.op === 'pick') {
        for (const [node, load] of event.cand) expect(view(node)?.load, `${where}, load of ${node}`).toBe(load);
        draws.push(...event.draws);
        const picked = policy.pick();
        expect(picked.instance.address, where).toBe(`n${event.node}`);
        expect(draws, `${where}: draws that were not asked for`).toEqual([]);
        calls.push(picked);
      } else {
        const call = calls[event.call];
        call?.done({ code: event.code });
        const after = policy.inspect().find(({ address }) => address === call?.instance.address);
        const slack = exact ? 0 : 1;
        expect(Math.abs(Math.round((after?.latencyMs ?? 0) * 1e6) - event.lag), `${where}, lag`).toBeLessThanOrEqual(
          slack,
        );
        expect(
          Math.abs(Math.round((after?.success ?? 0) * 1000) - event.success),
          `${where}, success`,
        ).toBeLessThanOrEqual(slack);
        expect(after?.inFlight, where).toBe(event.inflight);
        if (exact) expect(after?.load, where).toBe(event.load);
        expect(lines.splice(0), where).toEqual(event.stat === undefined ? [] : [event.stat]);
      }
    }
  });
});

describe('p2c_ewma', () => {
  it('keeps what it learnt of instances that stay when the set changes, and forgets those that leave', () => {
    const clock = settableClock();
    const policy = new P2cEwma(clock, seededRng(1));
    policy.update(named(2));
    const call = policy.pick();
    clock.ns += 5e6;
    call.done({ code: 0 });
    const learnt = policy.inspect().find(({ latencyMs }) => latencyMs !== null);
    expect(learnt?.latencyMs).toBe(5);
    policy.update(named(4));
    expect(policy.inspect()).toContainEqual(learnt);
    policy.update([]);
    policy.update(named(2));
    expect(policy.inspect().every(({ latencyMs }) => latencyMs === null)).toBe(true);
  });

  it('learns nothing from a call that never left', () => {
    const clock = settableClock();
    const policy = new P2cEwma(clock, seededRng(1));
    policy.update(named(1));
    const before = policy.inspect();
    const call = policy.pick();
    clock.ns += 9e9;
    call.abandon();
    call.done({ code: 14 });
    expect(policy.inspect()).toEqual(before);
  });

  it('spreads calls over equal nodes uniformly', () => {
    const clock = settableClock();
    const policy = new P2cEwma(clock, seededRng(42));
    policy.update(named(5));
    // Each is picked now and then, so that nobody is forced; all take the same time.
    const counts = new Map<string, number>();
    const draws = 50_000;
    for (let i = -100; i < draws; i++) {
      const call = policy.pick();
      const { address } = call.instance;
      if (i >= 0) counts.set(address, (counts.get(address) ?? 0) + 1);
      clock.ns += 1e6;
      call.done({ code: 0 });
    }
    const expected = draws / 5;
    const chiSquare = named(5).reduce(
      (sum, { address }) => sum + ((counts.get(address) ?? 0) - expected) ** 2 / expected,
      0,
    );
    expect(chiSquare).toBeLessThan(chiSquareLimit[4]);
  });

  it('sends a node a hundred times slower no more than what is forced', () => {
    const clock = settableClock();
    const policy = new P2cEwma(clock, seededRng(7));
    policy.update(named(3));
    const latencies: Record<string, number> = { n0: 10e6, n1: 10e6, n2: 1000e6 };
    const picks: Record<string, number> = { n0: 0, n1: 0, n2: 0 };
    const ends: Array<{ at: number; call: Picked<{ address: string }> }> = [];
    for (let i = 0; i < 4000; i++) {
      clock.ns = i * 5e6;
      for (const end of ends.filter(({ at }) => at <= clock.ns)) {
        end.call.done({ code: 0 });
        ends.splice(ends.indexOf(end), 1);
      }
      const call = policy.pick();
      const { address } = call.instance;
      ends.push({ at: clock.ns + (latencies[address] ?? 0), call });
      if (i >= 600) picks[address] = (picks[address] ?? 0) + 1;
    }
    // 17 s: one forced pick a second at most, of 3,400.
    expect(picks.n2).toBeGreaterThan(5);
    expect(picks.n2).toBeLessThanOrEqual(18);
    expect(Math.abs((picks.n0 ?? 0) - (picks.n1 ?? 0))).toBeLessThan(3400);
  });
});
