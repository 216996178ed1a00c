import { isObject, textField } from '../dialects/codec.js';
import { parseRecord } from '../discovery/overlay.js';

/** What a client that observes a service says about itself, for whoever takes instances out. */
export interface ObserverRecord {
  /** Name of the client's machine. */
  readonly host: string;
  /** Its process there. */
  readonly pid: number;
  /** The client's name, for people; several may have the same. */
  readonly client: string;
  /** The balancing policy. */
  readonly policy: string;
  /** The last revision of etcd that it applied: it starts no call any more on what had left at that revision (int64). */
  readonly revision: bigint;
  /** Calls in flight on addresses that are not in rotation any more, by address; only those above 0. */
  readonly inFlight: ReadonlyMap<string, number>;
  /** `host:port` of its statistics; empty when it serves none. */
  readonly statistics: string;
}

export function encodeObserver(record: ObserverRecord): string {
  const { revision, inFlight, ...rest } = record;
  return JSON.stringify({ ...rest, revision: String(revision), inFlight: Object.fromEntries(inFlight) });
}

/** Null for anything that is not such a record. */
export function decodeObserver(value: Uint8Array): ObserverRecord | null {
  const object = parseRecord(value);
  const { revision, inFlight, host, pid } = object ?? {};
  if (!object || typeof revision !== 'string' || !/^\d{1,19}$/.test(revision) || !isObject(inFlight)) return null;
  if (typeof host !== 'string' || typeof pid !== 'number') return null;
  const calls = Object.entries(inFlight).flatMap(([address, count]) =>
    typeof count === 'number' && count > 0 ? [[address, count] as const] : [],
  );
  return {
    host,
    pid,
    client: textField(object, 'client') ?? '',
    policy: textField(object, 'policy') ?? '',
    revision: BigInt(revision),
    inFlight: new Map(calls),
    statistics: textField(object, 'statistics') ?? '',
  };
}
