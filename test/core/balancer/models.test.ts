import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Picked } from '../../../src/core/balancer/balancer.js';
import { createBalancer } from '../../../src/core/balancer/policies.js';
import { Ring } from '../../../src/core/hashing/ring.js';
import { seededRng } from '../../support/random.js';
import { NaiveKratos } from './naive-kratos.js';
import { NaiveP2c } from './naive-p2c.js';
import { settableClock } from './settable-clock.js';

const named = (n: number) => Array.from({ length: n }, (_, i) => ({ address: `n${i}` }));

const size = fc.integer({ min: 1, max: 7 });
const timedSteps = fc.array(
  fc.record({
    afterNs: fc.oneof(fc.integer({ min: 0, max: 5e7 }), fc.integer({ min: 0, max: 5e9 })),
    isPick: fc.boolean(),
    which: fc.nat(100),
    code: fc.integer({ min: 0, max: 16 }),
  }),
  { maxLength: 120 },
);

describe('on any trace, what a plain reading of the rules does is what is done by', () => {
  it.each([
    ['p2c_ewma', (n: number, rng: () => number) => new NaiveP2c(n, rng)],
    ['kratos_p2c', (n: number, rng: () => number) => new NaiveKratos(n, rng)],
  ] as const)('%s', (name, model) => {
    fc.assert(
      fc.property(size, timedSteps, fc.integer(), (n, steps, seed) => {
        const clock = settableClock();
        const policy = createBalancer(name, { clock, rng: seededRng(seed) });
        policy.update(named(n));
        const naive = model(n, seededRng(seed));
        const open: Array<{ ours: Picked<{ address: string }>; theirs: (code: number, now: number) => void }> = [];
        for (const { afterNs, isPick, which, code } of steps) {
          clock.ns += afterNs;
          if (isPick || open.length === 0) {
            const theirs = naive.pick(clock.ns);
            const ours = policy.pick();
            expect(ours.instance.address).toBe(`n${theirs.node}`);
            open.push({ ours, theirs: theirs.done });
          } else {
            const [call] = open.splice(which % open.length, 1);
            call?.ours.done({ code });
            call?.theirs(code, clock.ns);
          }
          expect(policy.inspect?.().map(({ load, inFlight }) => [load, inFlight])).toEqual(naive.state(clock.ns));
        }
      }),
      { numRuns: 200 },
    );
  });

  /** Picks with some to be avoided, and ends of open calls. */
  const steps = fc.array(
    fc.record({ isPick: fc.boolean(), which: fc.nat(100), avoided: fc.uniqueArray(fc.nat(6), { maxLength: 7 }) }),
    { maxLength: 100 },
  );

  interface Step {
    /** The addresses that may be picked. */
    readonly allowed: readonly string[];
    readonly inFlight: ReadonlyMap<string, number>;
    readonly key: string;
  }

  function follow(policy: string, model: (all: readonly string[]) => (step: Step) => string) {
    fc.assert(
      fc.property(size, steps, (n, sequence) => {
        const balancer = createBalancer(policy);
        balancer.update(named(n));
        const all = named(n).map(({ address }) => address);
        const inFlight = new Map(all.map((address) => [address, 0]));
        const expected = model(all);
        const open: Picked<{ address: string }>[] = [];
        for (const { isPick, which, avoided } of sequence) {
          if (isPick || open.length === 0) {
            const avoid = (address: string) => avoided.some((index) => address === `n${index}`);
            const left = all.filter((address) => !avoid(address));
            const key = `k${which % 3}`;
            const wanted = expected({ allowed: left.length > 0 ? left : all, inFlight, key });
            const call = balancer.pick(avoided.length > 0 ? { key, avoid } : { key });
            expect(call.instance.address).toBe(wanted);
            inFlight.set(wanted, (inFlight.get(wanted) ?? 0) + 1);
            open.push(call);
          } else {
            const [call] = open.splice(which % open.length, 1);
            const address = call?.instance.address ?? '';
            if (which % 2 === 0) call?.done({ code: 0 });
            else call?.abandon();
            inFlight.set(address, (inFlight.get(address) ?? 0) - 1);
          }
        }
      }),
      { numRuns: 200 },
    );
  }

  it('round_robin: whoever was picked longest ago', () => {
    follow('round_robin', (all) => {
      let turns = all;
      return ({ allowed }) => {
        const next = turns.find((address) => allowed.includes(address)) ?? '';
        turns = [...turns.filter((address) => address !== next), next];
        return next;
      };
    });
  });

  it('least_active: the fewest calls in flight, the next in turn of those that tie', () => {
    follow('least_active', (all) => {
      let last = all.length - 1;
      return ({ allowed, inFlight }) => {
        const fewest = Math.min(...allowed.map((address) => inFlight.get(address) ?? 0));
        const inTurn = [...all.slice(last + 1), ...all.slice(0, last + 1)];
        const next = inTurn.find((address) => allowed.includes(address) && inFlight.get(address) === fewest) ?? '';
        last = all.indexOf(next);
        return next;
      };
    });
  });

  it('bounded_load: the first owner on the ring with room', () => {
    follow('bounded_load', (all) => {
      const ring = new Ring(
        all.map((address) => ({ address })),
        'gozero',
      );
      return ({ allowed, inFlight, key }) => {
        const total = allowed.reduce((sum, address) => sum + (inFlight.get(address) ?? 0), 0);
        const most = Math.ceil((1.25 * (total + 1)) / allowed.length);
        const owners = ring.owners(key, all.length);
        return owners.find((address) => allowed.includes(address) && (inFlight.get(address) ?? 0) < most) ?? '';
      };
    });
  });
});
