import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketOf, middleMs, quantileOf, upperBoundMs } from '../../../src/core/stats/latency-buckets.js';
import { LatencyWindows } from '../../../src/core/stats/latency-windows.js';

const relativeError = 0.02;
/** What the buckets tell apart, ms: 1/32 of a millisecond up to half an hour. */
const latency = fc.double({ min: 0.032, max: 1_700_000, noNaN: true });

describe('a bucket', () => {
  it('has a middle within 2 % of every latency in it, and holds nothing at or above its bound', () => {
    fc.assert(
      fc.property(fc.oneof(latency, fc.double({ min: 0.032, max: 100, noNaN: true })), (ms) => {
        const bucket = bucketOf(ms);
        expect(Math.abs(middleMs(bucket) - ms) / ms).toBeLessThan(relativeError);
        expect(ms).toBeLessThan(upperBoundMs(bucket));
        expect(ms).toBeGreaterThanOrEqual(upperBoundMs(bucket - 1));
      }),
    );
  });

  it('is there for every number', () => {
    const last = bucketOf(Number.POSITIVE_INFINITY);
    expect([Number.NaN, -1, 0].map(bucketOf)).toEqual([0, 0, 0]);
    expect([1e12, 3e6].map(bucketOf)).toEqual([last, last]);
    expect(upperBoundMs(last) / 60_000).toBeGreaterThan(30);
  });
});

/** How many ticks of 100 ms each window covers, the one under way among them, when it is `tick`. */
const covered = {
  1: () => 10,
  10: (tick: number) => 100 + (tick % 10) + 1,
  60: (tick: number) => 600 + (tick % 60) + 1,
};
const windows = [1, 10, 60] as const;

describe('the windows', () => {
  it('agree with a sorted list of what lies within them, however time passes', () => {
    const step = fc.record({
      // Mostly soon, at times after an hour.
      ticks: fc.oneof({ weight: 9, arbitrary: fc.nat(12) }, { weight: 2, arbitrary: fc.nat(900) }, fc.constant(36_000)),
      latencies: fc.array(latency, { maxLength: 8 }),
    });
    fc.assert(
      fc.property(fc.nat(1e6), fc.array(step, { maxLength: 40 }), (start, steps) => {
        const subject = new LatencyWindows();
        const all: { readonly tick: number; readonly ms: number }[] = [];
        let tick = start;
        for (const { ticks, latencies } of steps) {
          tick += ticks;
          for (const ms of latencies) {
            subject.record(bucketOf(ms), tick);
            all.push({ tick, ms });
          }
          for (const window of windows) {
            const since = tick - covered[window](tick);
            const sorted = all.filter((one) => one.tick > since).map(({ ms }) => ms);
            sorted.sort((a, b) => a - b);
            const told = subject.percentiles(window, tick);
            if (sorted.length === 0) expect(told).toBeNull();
            for (const [name, part] of Object.entries({ p50: 0.5, p90: 0.9, p99: 0.99 })) {
              const real = sorted[Math.ceil(sorted.length * part) - 1];
              if (real === undefined) continue;
              const value = told?.[name as 'p50'] ?? Number.NaN;
              expect(Math.abs(value - real) / real, `${name} of ${window} s`).toBeLessThan(relativeError);
            }
            const distributed = subject.distribution(tick);
            if (window !== 10) continue;
            expect(distributed.reduce((sum, [, count]) => sum + count, 0)).toBe(sorted.length);
            expect(distributed.map(([upTo]) => upTo)).toEqual(
              [...distributed.map(([upTo]) => upTo)].sort((a, b) => a - b),
            );
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('of 500 instances with latencies from 1 to 100 ms, and a few strays, fit in 30 MB', () => {
    const before = process.memoryUsage().arrayBuffers;
    const subjects = Array.from({ length: 500 }, () => new LatencyWindows());
    for (const subject of subjects) {
      for (const ms of [0.3, 1, 3, 10, 30, 99, 5000]) subject.record(bucketOf(ms), 7);
      for (let ms = 1; ms < 100; ms++) subject.record(bucketOf(ms), 8);
    }
    const usedMb = (process.memoryUsage().arrayBuffers - before) / 2 ** 20;
    expect(subjects.every((subject) => subject.percentiles(1, 8) !== null)).toBe(true);
    expect(usedMb).toBeLessThan(20);
  });
});

describe('a quantile of what a client told', () => {
  const some = fc.array(fc.oneof(latency, fc.constantFrom(0, 0.001, 0.5, 1, 1e9)), { maxLength: 200 });
  const recorded = (all: readonly number[]) => {
    const subject = new LatencyWindows();
    for (const ms of all) subject.record(bucketOf(ms), 7);
    return subject;
  };

  it('is the one that the client tells itself', () => {
    fc.assert(
      fc.property(some, (all) => {
        const subject = recorded(all);
        const told = JSON.parse(JSON.stringify(subject.distribution(7)));
        const own = subject.percentiles(10, 7);
        expect(quantileOf(told, 0.5)).toBe(own?.p50 ?? null);
        expect(quantileOf(told, 0.9)).toBe(own?.p90 ?? null);
        expect(quantileOf(told, 0.99)).toBe(own?.p99 ?? null);
      }),
    );
  });

  it('of several clients is that of one which had all of their calls', () => {
    fc.assert(
      fc.property(some, some, (one, other) => {
        const both = [...recorded(one).distribution(7), ...recorded(other).distribution(7)];
        expect(quantileOf(both, 0.99)).toBe(recorded([...one, ...other]).percentiles(10, 7)?.p99 ?? null);
      }),
    );
  });
});
