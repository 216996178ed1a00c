import { describe, expect, it } from 'vitest';
import type { Picked } from '../../../src/core/balancer/balancer.js';
import { createConfigured } from '../../../src/core/balancer/config.js';
import { createBalancer } from '../../../src/core/balancer/policies.js';
import { seededRng } from '../../support/random.js';
import { settableClock } from './settable-clock.js';

const named = (n: number) => Array.from({ length: n }, (_, i) => ({ address: `n${i}` }));

describe.each(['p2c_ewma', 'kratos_p2c'])('the trace of %s', (policy) => {
  function traced(n: number, health: boolean) {
    const clock = settableClock();
    const subject = createConfigured({ policy, health }, { clock, rng: seededRng(3) });
    subject.update(named(n));
    return { clock, subject, trace: (address: string, limit = 999) => subject.trace?.(address, limit) ?? [] };
  }

  it.each([true, false])('tells each pick as it was made, newest first (guarded: %s)', (health) => {
    const { clock, subject, trace } = traced(4, health);
    const before = new Map(named(4).map(({ address }) => [address, 0]));
    const open: Picked<{ address: string }>[] = [];
    for (let i = 0; i < 200; i++) {
      clock.ns += 50e6;
      const inFlight = new Map(before);
      const picked = subject.pick();
      const { address } = picked.instance;
      const [last] = trace(address, 1);
      expect(last?.chosen).toBe(address);
      expect(last?.at).toBe(new Date(0).toISOString());
      expect(last?.compared).toHaveLength(2);
      for (const one of last?.compared ?? []) expect(one.inFlight).toBe(inFlight.get(one.address));
      const [better, worse] = [...(last?.compared ?? [])].sort((a, b) => a.load - b.load);
      if (better?.load !== worse?.load) expect(last?.isForced ? worse?.address : better?.address).toBe(address);
      before.set(address, (before.get(address) ?? 0) + 1);
      open.push(picked);
      if (open.length < 5) continue;
      const done = open.shift();
      before.set(done?.instance.address ?? '', (before.get(done?.instance.address ?? '') ?? 0) - 1);
      done?.done({ code: i % 7 === 0 ? 14 : 0 });
    }
    const forced = subject.inspect?.().map((view) => view.forcePicks) ?? [];
    const told = named(4).map(({ address }) =>
      trace(address).filter((pick) => pick.isForced && pick.chosen === address),
    );
    expect(told.map((picks) => picks.length)).toEqual(forced);
    expect(forced.reduce((sum: number, count) => sum + (count ?? 0), 0)).toBeGreaterThan(0);
  });

  it('keeps the last 256, and tells as many as are asked for', () => {
    const { subject, trace } = traced(2, false);
    for (let i = 0; i < 1000; i++) subject.pick().done({ code: 0 });
    expect(trace('n0')).toHaveLength(256);
    expect(trace('n1', 16)).toHaveLength(16);
    expect(trace('n2')).toEqual([]);
  });

  it('has one side when there is nobody to compare with', () => {
    const { subject, trace } = traced(1, false);
    subject.pick();
    subject.pick();
    expect(trace('n0').map(({ compared, chosen }) => [compared.map(({ inFlight }) => inFlight), chosen])).toEqual([
      [[1], 'n0'],
      [[0], 'n0'],
    ]);
  });
});

it('a policy that does not compare has no trace', () => {
  expect(createBalancer('round_robin').trace).toBeUndefined();
  expect(createConfigured('round_robin').trace).toBeUndefined();
});
