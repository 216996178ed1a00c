import { OverlayKeys, unescapeName } from '../discovery/overlay.js';
import { prefixRange } from '../etcd/key-text.js';
import type { CallOptions, Etcd } from '../etcd/port.js';
import { decodeObserver, type ObserverRecord } from './observer-record.js';

/** The record of one client, as etcd holds it. */
export interface ObserverView extends ObserverRecord {
  /** The client's id, the last part of its key. */
  readonly id: string;
}

/** A client that has not converged, and on what it waits. */
export interface WaitingObserver {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** It may still start calls there. */
  readonly behind: boolean;
  /** Calls of it that are still in flight there. */
  readonly inFlight: number;
}

/**
 * The clients that observe a service now, by id. A client that died is listed until its lease has run out.
 * @throws ETCD_*, ETCD_PERMISSION_DENIED among them.
 */
export async function readObservers(
  etcd: Etcd,
  service: string,
  options: CallOptions & { readonly overlayRoot?: string } = {},
): Promise<readonly ObserverView[]> {
  const prefix = new OverlayKeys(options.overlayRoot).observersPrefix(service);
  const { kvs } = await etcd.list(prefixRange(prefix), options);
  return kvs.flatMap(({ key, value, modRevision }) => {
    const record = decodeObserver(value);
    if (!record) return [];
    // Nobody can have applied a revision above that of the write which says so: it is one of an etcd that was wiped since.
    const revision = record.revision > modRevision ? 0n : record.revision;
    return [{ ...record, revision, id: unescapeName(key.slice(prefix.length)) }];
  });
}

/**
 * The observers that have not converged on `addresses` having left at `revision`: it is the mod revision of the write
 * that took them out, or of a later change of the same service (clients report no others).
 */
export function waitingFor(
  observers: readonly ObserverView[],
  { addresses, revision }: { readonly addresses: readonly string[]; readonly revision: bigint },
): readonly WaitingObserver[] {
  return observers
    .map((observer) => ({
      id: observer.id,
      host: observer.host,
      pid: observer.pid,
      behind: observer.revision < revision,
      inFlight: [...new Set(addresses)].reduce((sum, address) => sum + (observer.inFlight.get(address) ?? 0), 0),
    }))
    .filter(({ behind, inFlight }) => behind || inFlight > 0);
}
