/** The layouts in which services write themselves into etcd (see docs/layouts.md). */
export const dialectNames = ['gozero', 'json', 'kratos', 'endpoint'] as const;
/** A layout in which services write themselves into etcd. */
export type DialectName = (typeof dialectNames)[number];

/** What is wrong or remarkable about a registration. */
export const noteNames = ['PERMANENT', 'DUPLICATE', 'UNDIALABLE', 'UNPARSED', 'CAME-BACK', 'OWNER-GONE'] as const;
/** Something wrong or remarkable about a registration. */
export type Note = (typeof noteNames)[number];

/** How an instance is taken out of rotation: by its own publisher, by its value, or by deleting its key. */
export const strategies = ['managed', 'mask', 'delete'] as const;
/** How an instance is taken out of rotation. */
export type Strategy = (typeof strategies)[number];

/** What a pause is part of: `hold` stays for as long as a command does. */
export const pauseVerbs = ['pause', 'hold', 'drain', 'roll'] as const;
/** What a pause is part of. */
export type PauseVerb = (typeof pauseVerbs)[number];

/** The lease of a key. */
export interface Lease {
  /** int64. */
  readonly id: bigint;
  /** Granted TTL, when it was asked for. */
  readonly ttlSeconds?: number;
  /** TTL left at the moment of reading, when it was asked for. */
  readonly remainingSeconds?: number;
}

/** Who registered an instance through lbctl or this library. Absent for any other publisher. */
export interface Owner {
  /** Name of the machine. */
  readonly host: string;
  /** Process id there. */
  readonly pid: number;
  /** Version of lbctl that registered it. */
  readonly version: string;
}

/** Why an instance is out of rotation. */
export interface Pause {
  /** Who paused it, as `user@host`. */
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
  /** In the words of who paused it; may be empty. */
  readonly reason: string;
  /** How it was taken out; `withdrawn`: by its own process. */
  readonly strategy: Strategy | 'withdrawn';
  /** What it is part of. */
  readonly verb: PauseVerb;
  /** ISO 8601, when it resumes by itself. */
  readonly until: string | null;
  /** Its owner registered again in spite of the pause. */
  readonly cameBack: boolean;
}

/** One registration of a service, joined with lbctl's own records about it. Immutable. */
export interface Instance {
  /** `host:port`; empty when the value could not be read (note UNPARSED). */
  readonly address: string;
  /** The last segment(s) of the key below the service. */
  readonly id: string;
  /** The key in etcd. */
  readonly key: string;
  /** Name of the service. */
  readonly service: string;
  /** The layout of its value; `unknown` when it could not be read. */
  readonly dialect: DialectName | 'unknown';
  /** Whether it is in rotation. */
  readonly admin: 'up' | 'paused';
  /** What a probe found; `unknown` when none was made. */
  readonly health: 'unknown' | 'healthy' | 'unhealthy';
  /** 1 when nothing says otherwise. */
  readonly weight: number;
  /** Where it runs; empty when not told. */
  readonly zone: string;
  /** Version of the service; empty when not told. */
  readonly version: string;
  /** Whatever else its registration tells. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Null: the key is permanent. */
  readonly lease: Lease | null;
  /** Revision of etcd at which the key came (int64). */
  readonly createRevision: bigint;
  /** Revision of its last change (int64). */
  readonly modRevision: bigint;
  /** Null for publishers that are not lbctl. */
  readonly owner: Owner | null;
  /** ISO 8601: since when it is in its state, as its owner wrote; null when only etcd knows it, which keeps no time. */
  readonly since: string | null;
  /** Null when it is not paused. */
  readonly pause: Pause | null;
  /** What is wrong or remarkable about it. */
  readonly notes: readonly Note[];
}
