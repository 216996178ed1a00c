/**
 * What the rest of the core knows of etcd. `connect()` (connection.ts) gives the implementation on etcd3's thin
 * clients. Every int64 is a bigint: lease ids exceed 2^53. Every call has a deadline. Every failure is an LbctlError.
 *
 * Keys are strings. A byte that is not UTF-8 is carried as a lone surrogate U+DC80…U+DCFF (as Python's
 * "surrogateescape" does), so any key survives the round trip; see key-text.ts.
 */

export interface Header {
  readonly clusterId: bigint;
  readonly memberId: bigint;
  readonly revision: bigint;
  readonly raftTerm: bigint;
}

export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  readonly version: bigint;
  /** 0n: bound to no lease. */
  readonly lease: bigint;
}

/** One key (`end` absent), or the half-open range [key, end). `prefixRange()` in key-text.ts builds it for a prefix. */
export interface KeyRange {
  readonly key: string;
  readonly end?: string;
}

/** What bounds one call. */
export interface CallOptions {
  /** Wall-clock bound of the whole call, retries included. Default: the connection's command timeout. */
  readonly timeoutMs?: number;
  /** Ends the call early. */
  readonly signal?: AbortSignal;
}

export interface Listing {
  readonly header: Header;
  /** All pages, read at `header.revision`, ordered by key. */
  readonly kvs: readonly KeyValue[];
}

export interface RangeOptions extends CallOptions {
  readonly keysOnly?: boolean;
}

export type Compare =
  | {
      readonly key: string;
      readonly target: 'mod' | 'create' | 'version' | 'lease';
      readonly is: '=' | '!=' | '<' | '>';
      readonly value: bigint;
    }
  | { readonly key: string; readonly target: 'value'; readonly is: '=' | '!='; readonly value: Buffer | string };

export type Operation =
  | { readonly put: string; readonly value: Buffer | string; readonly lease?: bigint; readonly ignoreLease?: boolean }
  | { readonly delete: KeyRange }
  | { readonly get: KeyRange };

export interface TxnRequest {
  readonly compare?: readonly Compare[];
  readonly success: readonly Operation[];
  readonly failure?: readonly Operation[];
}

export interface TxnResult {
  readonly succeeded: boolean;
  readonly header: Header;
  /** One entry an operation of the branch that ran: what a `get` found, what a `delete` removed is only counted. */
  readonly results: ReadonlyArray<{ readonly kvs: readonly KeyValue[]; readonly deleted: number }>;
}

export interface LeaseInfo {
  /** -1 when the lease is gone. */
  readonly remainingSeconds: number;
  readonly grantedSeconds: number;
  readonly keys: readonly string[];
}

export interface WatchEvent {
  readonly type: 'put' | 'delete';
  /** For a delete: key and modRevision of the deletion; value empty. */
  readonly kv: KeyValue;
  /** The value before, when the watch asked for it and etcd still has it. */
  readonly previous: KeyValue | null;
}

export interface WatchRequest {
  /** Watched on one stream; each range keeps a resume point of its own. */
  readonly ranges: readonly KeyRange[];
  /** The revision of the list that this watch continues: the first event delivered is above it. */
  readonly afterRevision: bigint;
}

export interface WatchHandlers {
  /** All events of one range up to `revision`, in order, each revision whole; never repeated, never skipped. */
  events(events: readonly WatchEvent[], revision: bigint, rangeIndex: number): void;
  /** Proved alive: at first, and after every `stale`. */
  live(): void;
  /**
   * Nothing has been heard, or the stream broke: the watch goes on trying, and the last known state ages.
   * @param silentForMs since the stream heard anything; absent: since now.
   */
  stale(reason: string, silentForMs?: number): void;
  /** Terminal: history is lost (compacted, wiped, restored). Load everything again and open a new watch. */
  lost(reason: 'compacted' | 'wiped' | 'refused', detail: string): void;
  /** Terminal for that range only: the user may not read it. */
  denied(rangeIndex: number, error: Error): void;
}

export interface Watch {
  /** Idempotent; resolves when the stream has ended. No handler is called after it was called. */
  close(): Promise<void>;
}

export interface LeaseHandlers {
  /** The lease has certainly expired or is gone; told exactly once, never after `revoke()` or `abandon()`. */
  lost(reason: string): void;
  /** A beat failed and is retried; for display only. */
  trouble?(reason: string): void;
  recovered?(): void;
}

/** A granted lease that is kept alive until it is revoked, abandoned or lost. */
export interface HeldLease {
  readonly id: bigint;
  readonly ttlSeconds: number;
  /** Stops beating, then revokes; an error "not found" is success. Bounded by `timeoutMs` (default 2 s). */
  revoke(options?: CallOptions): Promise<void>;
  /** Stops beating without a word to etcd: the lease runs out by itself. */
  abandon(): void;
}

export interface MemberStatus {
  /** `host:port` of the member. */
  readonly endpoint: string;
  readonly version: string;
  readonly dbSizeBytes: number;
  readonly isLeader: boolean;
}

/**
 * A connection to etcd, for publishers and subscribers to share; `connect` gives it. Its methods are what the core itself asks
 * of etcd, each with a deadline.
 */
export interface Etcd {
  /** `host:port` of each member that is tried. */
  readonly endpoints: readonly string[];
  /** All keys of a range at one revision, paged. Linearizable. */
  list(range: KeyRange, options?: RangeOptions): Promise<Listing>;
  /**
   * A lost answer is ETCD_OUTCOME_UNKNOWN, never a silent retry, unless `idempotent` says that running it twice
   * is the same as once.
   */
  txn(request: TxnRequest, options?: CallOptions & { idempotent?: boolean }): Promise<TxnResult>;
  /** Grants a lease (id chosen here, so a repeat is safe) and keeps it alive. */
  holdLease(ttlSeconds: number, handlers: LeaseHandlers, options?: CallOptions): Promise<HeldLease>;
  /** Grants a lease that nobody keeps alive (a pause with a duration). */
  grantLease(ttlSeconds: number, options?: CallOptions): Promise<bigint>;
  /** Ends a lease and every key on it. @throws LEASE_NOT_FOUND, ETCD_*. */
  revokeLease(id: bigint, options?: CallOptions): Promise<void>;
  /** TTL granted and left. @throws LEASE_NOT_FOUND, ETCD_*. */
  leaseInfo(id: bigint, options?: CallOptions): Promise<LeaseInfo>;
  /** Follows ranges from a revision on, over outages, until it is closed or `lost` is told. */
  watch(request: WatchRequest, handlers: WatchHandlers): Watch;
  /** One answer a member, in the order of `endpoints`. @throws ETCD_*. */
  status(options?: CallOptions): Promise<readonly MemberStatus[]>;
  /**
   * Leaves the shared connection; the last user closes it: watches cancelled, channels closed, bounded by 3 s.
   * Held leases that were not revoked run out by themselves.
   */
  close(): Promise<void>;
}

/** How etcd is reached. */
export interface EtcdSettings {
  /** `host:port`, or `http://…` / `https://…`. */
  readonly endpoints: readonly string[];
  /** TLS is used when this is given, or an endpoint says `https://`. */
  readonly tls?: {
    /** PEM of the authority that signed the servers; the system's when absent. */
    readonly ca?: Buffer;
    /** PEM of the client certificate. */
    readonly cert?: Buffer;
    /** PEM of its private key. */
    readonly key?: Buffer;
    /** Accept any server certificate: for tests only. */
    readonly skipVerify?: boolean;
  };
  /** An account of etcd. */
  readonly auth?: {
    /** Name of the account. */
    readonly user: string;
    /** Sent to etcd only, never shown. */
    readonly password: string;
  };
  /** For a connection to be there. Default 2000. */
  readonly dialTimeoutMs?: number;
  /** For one call, its retries included. Default 5000. */
  readonly commandTimeoutMs?: number;
}
