import { describe, expect, test } from 'vitest';
import { aggregate } from '../../../src/core/dashboard/aggregate.js';
import type { InstanceFigures } from '../../../src/core/stats/figures.js';
import { bucketOf } from '../../../src/core/stats/latency-buckets.js';
import { LatencyWindows } from '../../../src/core/stats/latency-windows.js';
import { clientFigures, instanceFigures, windows } from '../../support/statistics-server.js';

const of = (...all: Partial<InstanceFigures>[]) =>
  aggregate(all.map((one, index) => clientFigures(`c-${index}`, [instanceFigures('a:1', one)]))).get('a:1');

describe('the figures of several clients', () => {
  test('add up: calls, rates, calls in flight, codes', () => {
    const figures = of(
      { inFlight: 2, codes: { OK: 5 }, windows: windows({ calls: 10, errors: 1, picksPerSecond: 1.5 }) },
      { inFlight: 3, codes: { OK: 1, UNAVAILABLE: 2 }, windows: windows({ calls: 30, errors: 3, picksPerSecond: 2 }) },
    );
    expect(figures).toMatchObject({ inFlight: 5, callsPerSecond: 3.5, errorRate: 0.1 });
    expect(figures?.codes).toEqual({ OK: 6, UNAVAILABLE: 2 });
  });

  test('average: the latency by its calls, the load by clients', () => {
    const figures = of(
      { ewmaMs: 10, load: 100, windows: windows({ calls: 30 }) },
      { ewmaMs: 20, load: 300, windows: windows({ calls: 10 }) },
      { ewmaMs: null, load: null },
    );
    expect(figures).toMatchObject({ ewmaMs: 12.5, load: 200, isEwmaBound: false });
    expect(of({ ewmaMs: 10 }, { ewmaMs: 20 })?.ewmaMs).toBe(15);
  });

  test('have the P99 of all their calls together, not the mean of two', () => {
    const client = (...attempts: (readonly [ms: number, times: number])[]) => {
      const counts = new LatencyWindows();
      for (const [ms, times] of attempts) for (let time = 0; time < times; time++) counts.record(bucketOf(ms), 1);
      return { told: counts.percentiles(10, 1)?.p99 ?? null, latencies: counts.distribution(1) };
    };
    const [fast, slow, few] = [client([10, 970]), client([500, 30]), client([500, 9])];
    expect(of(fast, slow)?.p99Ms).toBe(slow.told);
    expect(of(fast, few)?.p99Ms).toBe(fast.told);
    // Of one client it is what that client tells of itself.
    const mixed = client([3, 50], [7, 20], [90, 1]);
    expect(of(mixed)?.p99Ms).toBe(mixed.told);
    expect(of({}, {})?.p99Ms).toBeNull();
  });

  test('tell health: one that keeps calls away outdoes one that does not, and no call is no health', () => {
    const good = { windows: windows({}, { calls: 5, errors: 0 }) };
    expect(of(good)?.health).toBe('healthy');
    // Connections that cannot be opened: it is down, unless somebody reaches it.
    expect(of({ isReachable: false }, { isReachable: false })?.health).toBe('unhealthy');
    expect(of(good, { isReachable: false })?.health).toBe('healthy');
    expect(of(good, { circuit: 'open' })?.health).toBe('ejected');
    expect(of(good, { circuit: 'half-open' })?.health).toBe('probing');
    expect(of({ circuit: 'open' }, { circuit: 'half-open' })?.health).toBe('ejected');
    expect(of({ windows: windows({}, { calls: 5, errors: 5 }) })?.health).toBe('unhealthy');
    expect(of({})?.health).toBeNull();
    expect(of({})?.errorRate).toBeNull();
  });

  test('take a call that was cancelled for neither good nor bad', () => {
    const minute = (calls: number, errors: number) => windows({}, { calls, errors });
    expect(of({ codes: { CANCELLED: 5 }, windows: minute(5, 0) })?.health).toBeNull();
    expect(of({ codes: { CANCELLED: 5, UNAVAILABLE: 2 }, windows: minute(7, 2) })?.health).toBe('unhealthy');
    expect(of({ codes: { CANCELLED: 5, OK: 1 }, windows: minute(6, 0) })?.health).toBe('healthy');
    expect(of({ codes: { CANCELLED: 500, OK: 90, UNAVAILABLE: 2 }, windows: minute(60, 2) })?.health).toBe('healthy');
    const cancelled = { codes: { CANCELLED: 5 }, windows: minute(5, 0) };
    expect(of(cancelled, { codes: { OK: 1 }, windows: minute(1, 0) })?.health).toBe('healthy');
    expect(of(cancelled, { codes: { UNAVAILABLE: 1 }, windows: minute(1, 1) })?.health).toBe('unhealthy');
  });

  test('start no call at an instance that no client lists any more, whatever its window says', () => {
    const left = { isListed: false, inFlight: 1, windows: windows({ picksPerSecond: 50 }) };
    expect(of(left, left)).toMatchObject({ callsPerSecond: 0, inFlight: 2 });
    expect(of(left, { windows: windows({ picksPerSecond: 3 }) })).toMatchObject({ callsPerSecond: 3 });
  });
});
