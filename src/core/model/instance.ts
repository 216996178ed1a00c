/** The layouts in which services write themselves into etcd (see docs/layouts.md). */
export const dialectNames = ['gozero', 'json', 'kratos', 'endpoint'] as const;
export type DialectName = (typeof dialectNames)[number];

/** What is wrong or remarkable about a registration. */
export const noteNames = ['PERMANENT', 'DUPLICATE', 'UNDIALABLE', 'UNPARSED', 'CAME-BACK', 'OWNER-GONE'] as const;
export type Note = (typeof noteNames)[number];

export interface Lease {
  /** int64. */
  readonly id: bigint;
  /** Granted TTL, when it was asked for. */
  readonly ttlSeconds?: number;
  readonly remainingSeconds?: number;
}

/** Who registered an instance through lbctl or this library. Absent for any other publisher. */
export interface Owner {
  readonly host: string;
  readonly pid: number;
  readonly version: string;
}

export interface Pause {
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
  readonly reason: string;
  readonly strategy: string;
  /** ISO 8601, when it resumes by itself. */
  readonly until: string | null;
  readonly cameBack: boolean;
}

/** One registration of a service, joined with lbctl's own records about it. Immutable. */
export interface Instance {
  /** `host:port`; empty when the value could not be read (note UNPARSED). */
  readonly address: string;
  /** The last segment(s) of the key below the service. */
  readonly id: string;
  readonly key: string;
  readonly service: string;
  readonly dialect: DialectName | 'unknown';
  readonly admin: 'up' | 'paused';
  readonly health: 'unknown' | 'healthy' | 'unhealthy';
  /** 1 when nothing says otherwise. */
  readonly weight: number;
  readonly zone: string;
  readonly version: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly lease: Lease | null;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  readonly owner: Owner | null;
  /** ISO 8601: since when it is in its state, as its owner wrote; null when only etcd knows it, which keeps no time. */
  readonly since: string | null;
  readonly pause: Pause | null;
  readonly notes: readonly Note[];
}
