import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClientCounts } from '../../../src/core/stats/client-counts.js';
import { windowsSeconds } from '../../../src/core/stats/figures.js';
import { ManualClock } from '../../support/manual-clock.js';

const tickMs = 100;

function counting(addresses: readonly string[] = ['a:1'], answers: readonly number[] = []) {
  const clock = new ManualClock();
  const counts = new ClientCounts(clock, answers);
  counts.list(addresses);
  const of = (address: string) => {
    const found = counts.of(address);
    if (found === undefined) throw new Error(`${address} is not listed`);
    return found;
  };
  const call = (address: string, code = 0, latencyMs = 5) => {
    of(address).began(clock.monotonic());
    of(address).ended(code, latencyMs, clock.monotonic(), counts.isError(code));
  };
  const told = (address: string) => counts.figures([]).find((figures) => figures.address === address);
  return { clock, counts, of, call, told };
}

describe('what is counted of an instance', () => {
  it('agrees in every window with a list of everything that happened', () => {
    const event = fc.record({
      waitMs: fc.oneof(fc.nat(150), fc.nat(9000), fc.constantFrom(59_900, 60_000, 3_600_000)),
      begins: fc.boolean(),
      code: fc.nat(16),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const { clock, counts, of, told } = counting(['a:1'], [12]);
        const cameMs = clock.monotonic();
        const began: number[] = [];
        const ended: { readonly atMs: number; readonly code: number }[] = [];
        for (const { waitMs, begins, code } of events) {
          clock.holdUp(waitMs);
          const nowMs = clock.monotonic();
          if (begins) {
            began.push(nowMs);
            of('a:1').began(nowMs);
          } else {
            ended.push({ atMs: nowMs, code });
            of('a:1').ended(code, 5, nowMs, counts.isError(code));
          }
          const figures = told('a:1');
          for (const seconds of windowsSeconds) {
            // From the beginning of the oldest tick, so that the window is at most as long as it is called.
            const sinceMs = (Math.floor(nowMs / tickMs) + 1) * tickMs - seconds * 1000;
            const within = ended.filter(({ atMs }) => atMs >= sinceMs);
            const picks = began.filter((atMs) => atMs >= sinceMs).length;
            const forMs = Math.max(tickMs, Math.min(nowMs - sinceMs, nowMs - cameMs));
            expect(figures?.windows[seconds]).toMatchObject({
              picks,
              calls: within.length,
              errors: within.filter(({ code: ending }) => ![0, 1, 12].includes(ending)).length,
              picksPerSecond: expect.closeTo((picks * 1000) / forMs, 6),
            });
            expect(figures?.windows[seconds].latencyMs === null).toBe(within.length === 0);
          }
        }
        expect(Object.values(told('a:1')?.codes ?? {}).reduce((sum, count) => sum + count, 0)).toBe(ended.length);
      }),
      { numRuns: 200 },
    );
  });

  it('is told by the names of codes; one that gRPC does not know is UNKNOWN', () => {
    const { call, told } = counting();
    for (const code of [0, 0, 14, 1, 99, -1, 0.5, Number.NaN]) call('a:1', code);
    expect(told('a:1')?.codes).toEqual({ OK: 2, UNAVAILABLE: 1, CANCELLED: 1, UNKNOWN: 4 });
  });

  it('is what the policy keeps, where it keeps something', () => {
    const { counts, of } = counting(['a:1', 'b:1']);
    for (const isForced of [true, false, true, true]) of('b:1').picked(isForced);
    const view = {
      address: 'b:1',
      inFlight: 9,
      latencyMs: 4,
      success: 0.5,
      load: 77,
      circuit: 'open',
      forcePicks: 3,
    } as const;
    expect(counts.figures([view])).toMatchObject([
      { address: 'a:1', ewmaMs: null, success: null, load: null, circuit: null, forcePicks: null },
      { address: 'b:1', ewmaMs: 4, success: 0.5, load: 77, circuit: 'open', forcePicks: 3, inFlight: 0 },
    ]);
  });
});

describe('an instance that has left', () => {
  it('is told for a minute after the last thing that happened there, and while calls are in flight', () => {
    const { clock, counts, of, call, told } = counting(['a:1', 'b:1', 'c:1']);
    call('a:1');
    call('b:1');
    of('b:1').inFlight++;
    const b = of('b:1');
    counts.list(['c:1']);
    expect(counts.figures([]).map(({ address, isListed }) => `${address} ${isListed}`)).toEqual([
      'c:1 true',
      'a:1 false',
      'b:1 false',
    ]);
    clock.holdUp(60_000);
    expect(told('a:1')).toBeDefined();
    clock.holdUp(1);
    expect(told('a:1')).toBeUndefined();
    expect(told('b:1')).toMatchObject({ isListed: false, inFlight: 1 });
    b.inFlight--;
    expect(told('b:1')).toBeUndefined();
  });

  it('is not told when nothing ever happened there', () => {
    const { counts } = counting(['a:1', 'b:1']);
    counts.list(['b:1']);
    expect(counts.figures([]).map(({ address }) => address)).toEqual(['b:1']);
  });

  it('goes on where it was when it comes back within that time, and is told once', () => {
    const { clock, counts, of, call } = counting(['a:1']);
    call('a:1');
    counts.list([]);
    clock.holdUp(30_000);
    counts.list(['a:1']);
    of('a:1').picks++;
    expect(counts.figures([])).toMatchObject([{ address: 'a:1', isListed: true, codes: { OK: 1 }, picks: 1 }]);
    counts.list([]);
    clock.holdUp(61_000);
    counts.list(['a:1']);
    expect(counts.figures([])).toMatchObject([{ address: 'a:1', codes: {}, picks: 0 }]);
  });
});
