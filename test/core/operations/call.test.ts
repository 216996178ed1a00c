import { describe, expect, it } from 'vitest';
import { type CallOutcomeNamed, type CallPlan, CallStatistics, runCalls } from '../../../src/core/operations/call.js';
import { ManualClock } from '../../support/manual-clock.js';

const good: CallOutcomeNamed = { outcome: 'OK', isError: false, details: '' };
const base: CallPlan = { count: null, durationMs: null, rps: null, concurrency: 1 };

/** A run over calls that take `latencyMs`; `sentAtMs` are their moments since the start. */
function start(plan: Partial<CallPlan>, latencyMs: number) {
  const clock = new ManualClock();
  const statistics = new CallStatistics();
  const stop = new AbortController();
  const sentAtMs: number[] = [];
  const startMs = clock.monotonic();
  let inFlight = 0;
  let most = 0;
  const call = () => {
    sentAtMs.push(clock.monotonic() - startMs);
    most = Math.max(most, ++inFlight);
    return new Promise<CallOutcomeNamed>((resolve) => {
      clock.timer(latencyMs, () => {
        inFlight--;
        resolve(stop.signal.aborted ? { outcome: 'CANCELLED', isError: true, details: '' } : good);
      });
    });
  };
  const ended = runCalls({ ...base, ...plan }, call, statistics, { clock, signal: stop.signal });
  return { clock, statistics, stop, sentAtMs, ended, most: () => most };
}

describe('calls at a rate', () => {
  it('are sent at their moments, however slow the answers are', async () => {
    const { clock, sentAtMs, ended, statistics } = start({ rps: 100, durationMs: 200, concurrency: 50 }, 300);
    await clock.advance(1000);
    expect(await ended).toBe(490);
    expect(sentAtMs).toHaveLength(20);
    for (const [i, atMs] of sentAtMs.entries()) expect(Math.abs(atMs - 10 * i)).toBeLessThanOrEqual(1);
    expect(statistics).toMatchObject({ calls: 20, heldBack: 0 });
  });

  it('are held back while too many are in flight, and counted', async () => {
    const { clock, ended, statistics, most } = start({ rps: 100, durationMs: 1000, concurrency: 3 }, 100);
    await clock.advance(2000);
    await ended;
    expect(most()).toBe(3);
    expect(statistics.calls + statistics.heldBack).toBe(100);
    expect(statistics.calls).toBeLessThanOrEqual(30);
  });

  it('do not go out in a burst after the process was held up', async () => {
    const { clock, sentAtMs, ended, statistics } = start({ rps: 500, durationMs: 3000, concurrency: 1000 }, 1);
    await clock.advance(1000);
    clock.holdUp(700);
    await clock.advance(3000);
    await ended;
    const perTick = new Map<number, number>();
    for (const atMs of sentAtMs) perTick.set(Math.floor(atMs), (perTick.get(Math.floor(atMs)) ?? 0) + 1);
    // 50 ms of them may be late.
    expect(Math.max(...perTick.values())).toBeLessThanOrEqual(26);
    expect(statistics.heldBack).toBeGreaterThanOrEqual(300);
    expect(statistics.calls + statistics.heldBack).toBe(1500);
  });

  it('count what was due in a pause that lasts to the end', async () => {
    const { clock, ended, statistics } = start({ rps: 100, durationMs: 1000, concurrency: 1000 }, 1);
    await clock.advance(500);
    clock.holdUp(5000);
    await clock.advance(10);
    await ended;
    expect(statistics.calls + statistics.heldBack).toBe(100);
  });

  it('slower than one in the allowed lateness are not given up for being late', async () => {
    const { clock, ended, statistics } = start({ rps: 1, count: 3 }, 1);
    await clock.advance(500);
    clock.holdUp(900);
    await clock.advance(5000);
    await ended;
    expect(statistics).toMatchObject({ calls: 3, heldBack: 0 });
  });
});

describe('calls one after the other', () => {
  it('are as many as asked for, never more at once than there are callers', async () => {
    const { clock, ended, statistics, most } = start({ count: 25, concurrency: 4 }, 10);
    await clock.advance(1000);
    await ended;
    expect(statistics.calls).toBe(25);
    expect(most()).toBe(4);
  });

  it('that an interruption cut short are no failures', async () => {
    const { clock, ended, statistics, stop } = start({ durationMs: 60_000, concurrency: 5 }, 10);
    await clock.advance(95);
    stop.abort();
    await clock.advance(20);
    await ended;
    expect(statistics).toMatchObject({ calls: 45, errors: 0 });
  });
});

describe('figures', () => {
  it('show who answered OK with what is no good answer', () => {
    const statistics = new CallStatistics();
    statistics.attempt('a:1', false, 2);
    statistics.call({ outcome: 'NOT_SERVING', isError: true, details: 'NOT_SERVING', wrongAnswerFrom: 'a:1' }, 3);
    const { errors, nodes } = statistics.figures(10);
    expect([errors, nodes]).toMatchObject([1, [{ address: 'a:1', calls: 1, share: 1, errors: 1 }]]);
  });

  it('have the percentiles of what was measured, within a thousandth', () => {
    const statistics = new CallStatistics();
    for (let ms = 1; ms <= 1000; ms++) statistics.call(good, ms);
    const { p50, p90, p99, p999, max } = statistics.figures(1).latencyMs ?? {};
    for (const [got, wanted] of [
      [p50, 500],
      [p90, 900],
      [p99, 990],
      [p999, 999],
      [max, 1000],
    ] as const) {
      expect(Math.abs((got ?? 0) - wanted) / wanted).toBeLessThan(0.0015);
    }
  });
});
