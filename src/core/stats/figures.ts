import type { PickTrace } from '../balancer/comparisons.js';
import type { CircuitState } from '../balancer/guard/circuit.js';

export type { Compared, PickTrace } from '../balancer/comparisons.js';

/** Attempts over the last second, ten seconds and minute. */
export const windowsSeconds = [1, 10, 60] as const;

/** Each within 2 % of the latency that it stands for, ms. */
export interface LatencyPercentiles {
  /** Half of the attempts took no longer. */
  readonly p50: number;
  /** Nine of ten took no longer. */
  readonly p90: number;
  /** 99 of 100 took no longer. */
  readonly p99: number;
}

/** What happened on one instance within a sliding window. */
export interface WindowFigures {
  /** Attempts that began. */
  readonly picks: number;
  /** Attempts that ended. */
  readonly calls: number;
  /** Of `calls`: neither OK, nor CANCELLED, nor a good answer to this client. */
  readonly errors: number;
  /** Attempts that began, per second of the window, or of the part of it since the instance came. */
  readonly picksPerSecond: number;
  /** Of attempts that ended; null when none did. */
  readonly latencyMs: LatencyPercentiles | null;
}

/** What one client knows of one instance. What its policy does not keep is null. */
export interface InstanceFigures {
  /** `host:port`. */
  readonly address: string;
  /** Calls go there. False: it has left the client's list, and is told for as long as there is something to tell. */
  readonly isListed: boolean;
  /** Its connection is open. False: the last try to open one failed. Null: none has been tried to the end. */
  readonly isReachable: boolean | null;
  /** Attempts that have not ended. */
  readonly inFlight: number;
  /** Since the instance came. */
  readonly picks: number;
  /** Of `picks`: the loser of a comparison, picked because it had not been for long. */
  readonly forcePicks: number | null;
  /** Attempts that ended, by the name of their gRPC status code. */
  readonly codes: Readonly<Record<string, number>>;
  /** Moving average of the policy. */
  readonly ewmaMs: number | null;
  /** Moving average of the successes, 0 to 1. */
  readonly success: number | null;
  /** As the policy compares it. */
  readonly load: number | null;
  /** Whether the health checker lets calls go there. */
  readonly circuit: CircuitState | null;
  /** By the window's seconds. */
  readonly windows: Readonly<Record<1 | 10 | 60, WindowFigures>>;
  /** Latencies of the last 10 s as [upper bound ms, attempts], ascending, without empty ones: those of several clients add up. */
  readonly latencies: readonly (readonly [upToMs: number, attempts: number])[];
}

/** What one client of a service counts: one channel with its balancer. */
export interface ClientFigures {
  /** The id of its observer record; empty without one. */
  readonly id: string;
  /** Its name, for people. */
  readonly client: string;
  /** Name of its machine. */
  readonly host: string;
  /** Its process there. */
  readonly pid: number;
  /** What it calls: a service in etcd, `namespace/service`, or `direct` for addresses; empty when its resolver does not tell. */
  readonly service: string;
  /** Its balancing policy. */
  readonly policy: string;
  /** ISO 8601: when these were taken. */
  readonly at: string;
  /** Those of its list in its order, then those that have left. */
  readonly instances: readonly InstanceFigures[];
  /** The last picks in which the asked-for address was compared, newest first; empty when none was asked for. */
  readonly trace: readonly PickTrace[];
}
