import type { PickTrace } from '../stats/figures.js';

/** Where the figures of a frame come from. */
export type SourceKind = 'probe' | 'observers' | 'log';

/** One instance, as operators see it. Null is unknown: never 0. Shares and rates are fractions 0..1. */
export interface Row {
  /** What the cursor follows: tells rows apart, and stays when an instance is paused and comes back. */
  readonly id: string;
  readonly address: string;
  /** The id within the service; empty when no registry was asked. */
  readonly name: string;
  readonly state: 'up' | 'paused' | 'gone' | null;
  /** `ejected`: a client's health check keeps calls away. `probing`: exactly one call is let through to see. */
  readonly health: 'healthy' | 'unhealthy' | 'ejected' | 'probing' | null;
  readonly weight: number | null;
  readonly zone: string;
  /** As p2c compares it; the mean over clients. */
  readonly load: number | null;
  readonly inFlight: number | null;
  /** Calls started per second. */
  readonly callsPerSecond: number | null;
  /** Of the calls per second of all rows. */
  readonly share: number | null;
  readonly errorRate: number | null;
  /** Moving average of the latency. */
  readonly ewmaMs: number | null;
  /** `ewmaMs` is an upper bound: the load that it comes from leaves open what is latency and what is calls in flight. */
  readonly isEwmaBound: boolean;
  readonly p99Ms: number | null;
  readonly lease: { readonly remainingSeconds: number; readonly ttlSeconds: number } | null;
  /** Attempts by the name of their gRPC status code, as long as they were counted. */
  readonly codes: Readonly<Record<string, number>>;
  /** Why it is paused, by whom, since when; null when it is not. */
  readonly pause: { readonly by: string; readonly at: string; readonly reason: string } | null;
}

/** One thing in the life of an instance. */
export interface HistoryEvent {
  /** Of the row. */
  readonly id: string;
  /** ISO 8601; null when only etcd's order is known. */
  readonly at: string | null;
  /** For people: `registered`, `paused by ann: deploy`… */
  readonly text: string;
}

/** More about one row: what the detail view shows beside the row itself. */
export interface Detail {
  readonly id: string;
  /** Oldest first. */
  readonly history: readonly HistoryEvent[];
  /** Part of all keys that the default ring of consistent_hash, without weights, sends there; null when it is not in rotation. */
  readonly ringShare: number | null;
  /** Newest first. */
  readonly trace: readonly PickTrace[];
  /** What the load can stand for: latency at so many calls in flight. Empty when both are known. */
  readonly readings: readonly { readonly inFlight: number; readonly ewmaMs: number }[];
}

/** Everything that a dashboard shows at one moment. */
export interface Frame {
  /** ISO 8601. */
  readonly at: string;
  readonly service: string;
  /** Which registry: its endpoints, or the files that are read. */
  readonly context: string;
  readonly policy: string | null;
  readonly source: SourceKind;
  /** Clients whose figures are in it; null when the source is not clients. */
  readonly observers: number | null;
  /** The one client that is looked through; null: all added up. */
  readonly view: string | null;
  /** Since when the registry has not been heard; null while it is, or none is asked. */
  readonly staleForMs: number | null;
  /** Calls of the busiest instance over the mean of those in rotation, per weight where the policy weighs; null without calls. */
  readonly skew: number | null;
  /** What is wrong or remarkable, worst first. */
  readonly notices: readonly string[];
  /** By address, then id. */
  readonly rows: readonly Row[];
  /** Of the row that is looked at; null when none is. */
  readonly detail: Detail | null;
}
