import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { type Clock, sleep } from '../model/clock.js';

/** How many calls, and how fast. Without `rps` each of `concurrency` callers makes its next call when the last has ended. */
export interface CallPlan {
  /** Null: no limit. */
  readonly count: number | null;
  readonly durationMs: number | null;
  /** Calls are started at this rate whether or not earlier ones have ended. Null: as fast as they end. */
  readonly rps: number | null;
  /** With `rps`: a call that is due while so many are in flight is not made, and counted as held back. */
  readonly concurrency: number;
}

/** Percentiles by HDR histogram, ms. */
export interface Latencies {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export interface NodeFigures {
  readonly address: string;
  /** Attempts that reached it: a call that was retried counts at each instance it was sent to. */
  readonly calls: number;
  /** Of all attempts, 0 to 1. */
  readonly share: number;
  readonly errors: number;
  /** Null without calls. */
  readonly latencyMs: Latencies | null;
}

export interface CallFigures {
  readonly calls: number;
  readonly errors: number;
  /** Calls that were due and not made: too many were in flight, or this process was held up (see `latestMs`). */
  readonly heldBack: number;
  readonly durationMs: number;
  readonly latencyMs: Latencies | null;
  /** How often each outcome came; the outcome's name to its number. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** By address. */
  readonly nodes: readonly NodeFigures[];
}

/** What one call came to: `OK`, or what went wrong in one word (a status, NOT_SERVING), and the words of the server. */
export interface CallOutcomeNamed {
  readonly outcome: string;
  readonly isError: boolean;
  readonly details: string;
  /** Who answered OK with a message that is none (NOT_SERVING): no attempt shows it. */
  readonly wrongAnswerFrom?: string;
}

/** Latencies up to an hour, to three digits, in microseconds. */
const histogramOptions = { lowest: 1, highest: 3_600_000_000, figures: 3 } as const;

class Tally {
  readonly #histogram: RecordableHistogram = createHistogram(histogramOptions);
  calls = 0;
  errors = 0;

  add(latencyMs: number, isError: boolean): void {
    this.calls++;
    if (isError) this.errors++;
    this.#histogram.record(Math.min(histogramOptions.highest, Math.max(1, Math.round(latencyMs * 1000))));
  }

  latencies(): Latencies | null {
    if (this.calls === 0) return null;
    const at = (percent: number) => this.#histogram.percentile(percent) / 1000;
    return { p50: at(50), p90: at(90), p99: at(99), p999: at(99.9), max: this.#histogram.max / 1000 };
  }
}

/** Adds up calls and their attempts. */
export class CallStatistics {
  readonly #all = new Tally();
  readonly #nodes = new Map<string, Tally>();
  readonly #outcomes = new Map<string, number>();
  heldBack = 0;
  /** What the server said to the last call that failed. */
  lastFailure = '';

  call({ outcome, isError, details, wrongAnswerFrom }: CallOutcomeNamed, latencyMs: number): void {
    this.#all.add(latencyMs, isError);
    if (wrongAnswerFrom !== undefined) this.#node(wrongAnswerFrom).errors++;
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
    if (isError) this.lastFailure = details;
  }

  attempt(address: string, isError: boolean, latencyMs: number): void {
    this.#node(address).add(latencyMs, isError);
  }

  #node(address: string): Tally {
    const tally = this.#nodes.get(address) ?? new Tally();
    this.#nodes.set(address, tally);
    return tally;
  }

  get calls(): number {
    return this.#all.calls;
  }

  get errors(): number {
    return this.#all.errors;
  }

  figures(durationMs: number): CallFigures {
    const attempts = [...this.#nodes.values()].reduce((sum, { calls }) => sum + calls, 0);
    const nodes = [...this.#nodes].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      calls: this.#all.calls,
      errors: this.#all.errors,
      heldBack: this.heldBack,
      durationMs,
      latencyMs: this.#all.latencies(),
      outcomes: Object.fromEntries([...this.#outcomes].sort(([, a], [, b]) => b - a)),
      nodes: nodes.map(([address, tally]) => ({
        address,
        calls: tally.calls,
        share: attempts === 0 ? 0 : tally.calls / attempts,
        errors: tally.errors,
        latencyMs: tally.latencies(),
      })),
    };
  }
}

/** At least so long between two looks at the clock. */
const tickMs = 1;
/**
 * A call that is later than this is not made any more: after a pause of this process all that were due meanwhile would go
 * out in one burst, and measure the burst.
 */
const latestMs = 50;

/**
 * Makes calls by plan until it is fulfilled or `signal` aborts, and waits for those in flight. `call` gets the number of the call,
 * from 0, and never rejects; it has a deadline of its own.
 */
export async function runCalls(
  plan: CallPlan,
  call: (number: number) => Promise<CallOutcomeNamed>,
  statistics: CallStatistics,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<number> {
  const startMs = clock.monotonic();
  const elapsedMs = () => clock.monotonic() - startMs;
  const limit = plan.count ?? Number.POSITIVE_INFINITY;
  const untilMs = plan.durationMs ?? Number.POSITIVE_INFINITY;
  let started = 0;
  const one = async () => {
    const sentMs = clock.monotonic();
    const outcome = await call(started++);
    // What the interruption cut short says nothing about the service.
    if (!signal.aborted || !outcome.isError) statistics.call(outcome, clock.monotonic() - sentMs);
  };
  const isOver = () => signal.aborted || started + statistics.heldBack >= limit || elapsedMs() >= untilMs;
  const { rps } = plan;
  if (rps === null) {
    const caller = async () => {
      while (!isOver()) await one();
    };
    await Promise.all(Array.from({ length: plan.concurrency }, caller));
    return elapsedMs();
  }
  const inFlight = new Set<Promise<void>>();
  while (!isOver()) {
    const nowMs = elapsedMs();
    const due = Math.floor((nowMs * rps) / 1000) + 1;
    // Rounded down, so that the newest is never among them: at a low rate it is all there is.
    const tooLate = Math.floor(((nowMs - latestMs) * rps) / 1000);
    statistics.heldBack += Math.max(0, Math.min(tooLate, limit) - started - statistics.heldBack);
    for (; started + statistics.heldBack < due && !isOver(); ) {
      if (inFlight.size >= plan.concurrency) {
        statistics.heldBack++;
        continue;
      }
      const running: Promise<void> = one().finally(() => inFlight.delete(running));
      inFlight.add(running);
    }
    if (isOver()) break;
    const nextMs = Math.max(tickMs, ((started + statistics.heldBack) * 1000) / rps - elapsedMs());
    await sleep(clock, Math.min(nextMs, Math.max(tickMs, untilMs - elapsedMs())), signal);
  }
  // What was due in a pause that lasted to the end.
  const planned = Math.min(limit, Math.ceil((untilMs * rps) / 1000));
  if (!signal.aborted) statistics.heldBack += Math.max(0, planned - started - statistics.heldBack);
  await Promise.all(inFlight);
  return elapsedMs();
}
