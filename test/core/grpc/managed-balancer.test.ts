import { describe, expect, it } from 'vitest';
import type { Balancer, Candidate } from '../../../src/core/balancer/balancer.js';
import { createConfigured } from '../../../src/core/balancer/config.js';
import { createBalancer } from '../../../src/core/balancer/policies.js';
import { type Attempt, ManagedBalancer, reservationMs } from '../../../src/core/grpc/policies/managed-balancer.js';
import { ManualClock } from '../../support/manual-clock.js';

const ab = [{ address: 'a:1' }, { address: 'b:1' }];

function managed(balancer: Balancer = createBalancer('least_active'), instances: readonly Candidate[] = ab) {
  const clock = new ManualClock();
  const attempts: Attempt[] = [];
  const subject = new ManagedBalancer(balancer, { onAttempt: (attempt) => attempts.push(attempt) }, clock);
  subject.update(instances);
  const inFlight = (): number[] => subject.inspect().map((row) => row.inFlight);
  const ownInFlight = (): unknown[] => balancer.inspect?.().map((view) => view.inFlight) ?? [];
  return { subject, clock, attempts, inFlight, ownInFlight };
}

describe('a reservation', () => {
  it('counts from the pick to the end', () => {
    const { subject, attempts, inFlight, ownInFlight } = managed();
    const reservation = subject.reserve();
    expect([inFlight(), ownInFlight()]).toEqual([
      [1, 0],
      [1, 0],
    ]);
    reservation.started();
    reservation.ended({ code: 14 });
    reservation.ended({ code: 14 });
    expect([inFlight(), ownInFlight()]).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(subject.inspect()[0]).toMatchObject({ address: 'a:1', picks: 1, failures: 1 });
    expect(attempts).toEqual([{ address: 'a:1', code: 14, latencyMs: 0 }]);
  });

  it('runs out when no stream follows, and leaves no timer behind', async () => {
    const { subject, clock, attempts, inFlight, ownInFlight } = managed();
    for (let i = 0; i < 4; i++) subject.reserve();
    await clock.advance(reservationMs - 1);
    expect(inFlight()).toEqual([2, 2]);
    await clock.advance(reservationMs + 1);
    expect([inFlight(), ownInFlight()]).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(attempts).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('does not run out once the stream is open', async () => {
    const { subject, clock, attempts, inFlight } = managed();
    const reservation = subject.reserve();
    reservation.started();
    await clock.advance(10 * reservationMs);
    expect(inFlight()).toEqual([1, 0]);
    reservation.ended({ code: 0 });
    expect(attempts).toEqual([{ address: 'a:1', code: 0, latencyMs: 10 * reservationMs }]);
  });

  it('that ran out while a token was fetched counts again when the stream opens', async () => {
    const { subject, clock, inFlight, ownInFlight } = managed();
    const other = subject.reserve();
    other.started();
    const slow = subject.reserve();
    await clock.advance(3 * reservationMs);
    expect(inFlight()).toEqual([1, 0]);
    slow.started();
    expect([inFlight(), ownInFlight()]).toEqual([
      [1, 1],
      [1, 1],
    ]);
    slow.ended({ code: 0 });
    other.ended({ code: 0 });
    expect([inFlight(), ownInFlight()]).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it('of an instance that has left ends without harm', async () => {
    const { subject, inFlight } = managed();
    const reservation = subject.reserve();
    reservation.started();
    subject.update([{ address: 'b:1' }]);
    reservation.ended({ code: 0 });
    expect(inFlight()).toEqual([0]);
    subject.update(ab);
    expect(inFlight()).toEqual([0, 0]);
  });

  it('does not throw what a policy or a listener throws', () => {
    const angry = (): never => {
      throw new Error('a bug');
    };
    const faulty: Balancer = {
      update: () => {},
      pick: () => ({ instance: { address: 'a:1' }, done: angry, abandon: angry }),
    };
    const subject = new ManagedBalancer(faulty, { onAttempt: angry }, new ManualClock());
    subject.update(ab);
    const reservation = subject.reserve();
    expect(() => {
      reservation.started();
      reservation.ended({ code: 0 });
      subject.reserve().abandon();
    }).not.toThrow();
    expect(subject.inspect().map((row) => row.inFlight)).toEqual([0, 0]);
  });
});

describe('lists that come faster than a policy can digest them', () => {
  function slowPolicy() {
    const seen: string[] = [];
    let now = 0;
    const balancer: Balancer = {
      update: (instances) => {
        now += 20;
        seen.push(instances.map(({ address }) => address).join());
      },
      pick: () => ({ instance: { address: 'a:1' }, done: () => {}, abandon: () => {} }),
    };
    const subject = new ManagedBalancer(balancer, undefined, {
      now: () => now,
      monotonic: () => now,
      timer: () => ({ cancel: () => {} }),
    });
    const wait = (ms: number): void => {
      now += ms;
    };
    return { subject, seen, wait };
  }
  const only = (...names: string[]): Candidate[] => names.map((address) => ({ address }));

  it('are left out but for the last, within a tenth of the time', () => {
    const { subject, seen, wait } = slowPolicy();
    for (let i = 0; i < 1000; i++) {
      subject.update(only('a', `b${i}`));
      wait(1);
    }
    wait(1000);
    expect(subject.stale).toBe(false);
    expect(seen.at(-1)).toBe('a,b999');
    expect(seen.length * 20).toBeLessThan(50 + 0.1 * 2000 + 40);
  });

  it('are not left out when nothing that the policy knows is left, or when it is asked to catch up', () => {
    const { subject, seen } = slowPolicy();
    for (const name of ['a', 'b', 'c', 'd', 'e']) subject.update(only(name));
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e']);
    subject.update(only('e', 'f'));
    expect([subject.stale, seen.at(-1)]).toEqual([true, 'e']);
    expect([subject.catchUp(), subject.stale, seen.at(-1)]).toEqual([true, false, 'e,f']);
    expect(subject.catchUp()).toBe(false);
  });
});

describe('calls in flight on instances that have left', () => {
  const leaving = (subject: ManagedBalancer) => Object.fromEntries(subject.leaving());
  const b = [{ address: 'b:1' }];

  it('are counted until they have ended, each end is told, and those on the others are not', () => {
    const { subject } = managed();
    const [first, second, third] = [subject.reserve(), subject.reserve(), subject.reserve()];
    for (const one of [first, second, third]) one.started();
    expect([first, second, third].map(({ address }) => address)).toEqual(['a:1', 'b:1', 'a:1']);
    let told = 0;
    subject.onLeaving(() => told++);
    expect(leaving(subject)).toEqual({});
    subject.update(b);
    expect(leaving(subject)).toEqual({ 'a:1': 2 });
    second.ended({ code: 0 });
    expect(told).toBe(0);
    first.ended({ code: 1 });
    expect([told, leaving(subject)]).toEqual([1, { 'a:1': 1 }]);
    third.ended({ code: 14 });
    third.ended({ code: 14 });
    expect([told, leaving(subject)]).toEqual([2, {}]);
    subject.update(ab);
    subject.update([]);
    expect(leaving(subject)).toEqual({});
  });

  it('are not shown while it is back, and all of them when it has left again', () => {
    const { subject } = managed();
    const before = subject.reserve();
    before.started();
    subject.update(b);
    subject.update(ab);
    expect(leaving(subject)).toEqual({});
    const after = [subject.reserve(), subject.reserve()].filter(({ address }) => address === 'a:1');
    expect(after).toHaveLength(1);
    subject.update(b);
    expect(leaving(subject)).toEqual({ 'a:1': 2 });
    before.ended({ code: 0 });
    expect(leaving(subject)).toEqual({ 'a:1': 1 });
  });

  it('include one that was only picked, until that runs out, and again when its stream opens after all', async () => {
    const { subject, clock } = managed();
    const slow = subject.reserve();
    subject.update(b);
    expect(leaving(subject)).toEqual({ 'a:1': 1 });
    let told = 0;
    subject.onLeaving(() => told++);
    await clock.advance(2 * reservationMs);
    expect([told, leaving(subject)]).toEqual([1, {}]);
    slow.started();
    expect([told, leaving(subject)]).toEqual([2, { 'a:1': 1 }]);
    slow.ended({ code: 0 });
    expect([told, leaving(subject)]).toEqual([3, {}]);
  });
});

describe('what is counted of an instance', () => {
  const policies = ['p2c_ewma', 'kratos_p2c'];
  const balancers = policies.flatMap((policy) => [
    [policy, createBalancer(policy)] as const,
    [`${policy} with health checks`, createConfigured(policy)] as const,
  ]);
  it.each(balancers)('never goes down while it is told, when the instance leaves and is back: %s', (_, balancer) => {
    const { subject } = managed(balancer);
    const call = () => {
      const reservation = subject.reserve();
      reservation.started();
      reservation.ended({ code: 0 });
    };
    const totals = () => subject.figures().map(({ address, picks, forcePicks }) => ({ address, picks, forcePicks }));
    // The one that has never been picked is, of whatever pair it is in.
    for (let calls = 0; calls < 20; calls++) call();
    const before = totals();
    const forced = before.find(({ forcePicks }) => forcePicks !== null && forcePicks > 0)?.address ?? '';
    expect(forced).not.toBe('');
    expect(subject.inspect().find(({ address }) => address === forced)?.forcePicks).toBeGreaterThan(0);
    subject.update(ab.filter(({ address }) => address !== forced));
    expect(totals().find(({ address }) => address === forced)).toEqual(
      before.find(({ address }) => address === forced),
    );
    subject.update(ab);
    expect(totals()).toEqual(before);
    for (let calls = 0; calls < 20; calls++) call();
    for (const { address, picks, forcePicks } of totals()) {
      const earlier = before.find((row) => row.address === address);
      expect(picks).toBeGreaterThanOrEqual(earlier?.picks ?? 0);
      expect(forcePicks).toBeGreaterThanOrEqual(earlier?.forcePicks ?? 0);
    }
  });
});
