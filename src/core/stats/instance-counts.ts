import type { InstanceView } from '../balancer/balancer.js';
import { statusNames, unknownCode } from '../model/status-codes.js';
import { CountWindows } from './count-windows.js';
import { type InstanceFigures, type WindowFigures, windowsSeconds } from './figures.js';
import { bucketOf, groupOf, groups } from './latency-buckets.js';
import { LatencyWindows, tickMs } from './latency-windows.js';

const longestWindowMs = Math.max(...windowsSeconds) * 1000;

/** The latencies of all attempts since an instance came, for what adds up over all time. */
export interface LatencyTotals {
  readonly sumMs: number;
  /** Attempts by the group of latency-buckets.ts: each up to twice the latency of the one before it. */
  readonly byGroup: ArrayLike<number>;
}

/** What is known of an instance without its windows. */
export interface InstanceTotals extends Omit<InstanceFigures, 'windows' | 'latencies'> {
  /** Since it came. */
  readonly latencyTotals: LatencyTotals;
}

/** What one client counts of one instance. Times are monotonic ms. */
export class InstanceCounts {
  readonly address: string;
  /** Calls go there. */
  isListed = true;
  isReachable: boolean | null = null;
  picks = 0;
  /** Of `picks`: the policy's own count goes with the instance, this one is there when it comes back. Null: nobody compares. */
  forcePicks: number | null = null;
  inFlight = 0;
  /** Attempts that ended in neither OK nor CANCELLED. */
  failures = 0;
  readonly #cameMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  // With the first call: of 500 instances a client may call three.
  #windows: { readonly counts: CountWindows; readonly latencies: LatencyWindows } | null = null;
  readonly #codes = new Float64Array(statusNames.length);
  readonly #byGroup = new Float64Array(groups);
  #sumMs = 0;

  constructor(address: string, nowMs: number) {
    this.address = address;
    this.#cameMs = nowMs;
  }

  /** An attempt chose it. */
  picked(isForced: boolean | undefined): void {
    this.picks++;
    if (isForced !== undefined) this.forcePicks = (this.forcePicks ?? 0) + Number(isForced);
  }

  /** An attempt's stream has opened. */
  began(nowMs: number): void {
    this.#lastMs = nowMs;
    this.#windows ??= { counts: new CountWindows(), latencies: new LatencyWindows() };
    this.#windows.counts.began(Math.floor(nowMs / tickMs));
  }

  /** `isError`: the attempt ended neither well nor in a way that says nothing of the instance. */
  ended(code: number, latencyMs: number, nowMs: number, isError: boolean): void {
    this.#lastMs = nowMs;
    const tick = Math.floor(nowMs / tickMs);
    const bucket = bucketOf(latencyMs);
    this.#windows ??= { counts: new CountWindows(), latencies: new LatencyWindows() };
    this.#windows.counts.ended(tick, isError);
    this.#windows.latencies.record(bucket, tick);
    // A server may send any number; gRPC takes those it does not know for UNKNOWN.
    const known = statusNames[code] === undefined ? unknownCode : code;
    this.#codes[known] = (this.#codes[known] ?? 0) + 1;
    const group = groupOf(bucket);
    this.#byGroup[group] = (this.#byGroup[group] ?? 0) + 1;
    this.#sumMs += Math.max(0, latencyMs);
  }

  /** Calls are in flight, or something happened within the longest window: one that has left is worth telling of. */
  isOfInterest(nowMs: number): boolean {
    return this.inFlight > 0 || nowMs - this.#lastMs <= longestWindowMs;
  }

  /** `view` is what the policy keeps of it, here and below. */
  totals(view: InstanceView | undefined): InstanceTotals {
    return { ...this.#known(view), latencyTotals: { sumMs: this.#sumMs, byGroup: this.#byGroup } };
  }

  figures(view: InstanceView | undefined, nowMs: number): InstanceFigures {
    const [one, ten, sixty] = windowsSeconds;
    return {
      ...this.#known(view),
      windows: {
        [one]: this.#window(one, nowMs),
        [ten]: this.#window(ten, nowMs),
        [sixty]: this.#window(sixty, nowMs),
      },
      latencies: this.#windows?.latencies.distribution(Math.floor(nowMs / tickMs)) ?? [],
    };
  }

  #known(view: InstanceView | undefined): Omit<InstanceFigures, 'windows' | 'latencies'> {
    return {
      address: this.address,
      isListed: this.isListed,
      isReachable: this.isReachable,
      inFlight: this.inFlight,
      picks: this.picks,
      forcePicks: this.forcePicks ?? (view?.forcePicks === undefined ? null : 0),
      codes: this.#codesByName(),
      ewmaMs: view?.latencyMs ?? null,
      success: view?.success ?? null,
      load: view?.load ?? null,
      circuit: view?.circuit ?? null,
    };
  }

  #codesByName(): Record<string, number> {
    const codes: Record<string, number> = {};
    for (const [code, name] of statusNames.entries()) {
      const count = this.#codes[code] ?? 0;
      if (count > 0) codes[name] = count;
    }
    return codes;
  }

  #window(seconds: (typeof windowsSeconds)[number], nowMs: number): WindowFigures {
    if (this.#windows === null) return { picks: 0, calls: 0, errors: 0, picksPerSecond: 0, latencyMs: null };
    const tick = Math.floor(nowMs / tickMs);
    const ticks = (seconds * 1000) / tickMs;
    const { began, ended, failed } = this.#windows.counts.sum(ticks, tick);
    // The tick under way is not over: what is told is a little less than the window, and its rate is by what it covers.
    const coveredMs = Math.min((ticks - 1) * tickMs + (nowMs - tick * tickMs), nowMs - this.#cameMs);
    return {
      picks: began,
      calls: ended,
      errors: failed,
      picksPerSecond: (began * 1000) / Math.max(tickMs, coveredMs),
      latencyMs: ended === 0 ? null : this.#windows.latencies.percentiles(seconds, tick),
    };
  }
}
