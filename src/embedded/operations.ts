import { intervalOf, keyText, pointInterval } from './interval.js';
import { wireKeyValue } from './kv-codec.js';
import { refuse } from './refusals.js';
import type { Entry, ReadView, WriteView } from './store.js';
import type {
  DeleteRangeRequest,
  DeleteRangeResponse,
  PutRequest,
  PutResponse,
  RangeRequest,
  RangeResponse,
} from './wire.js';

/** What needs no look into the store. @throws EtcdRefusal, as do all functions here. */
export function checkRange(request: RangeRequest): void {
  if (request.key.length === 0) throw refuse.emptyKey();
  if (typeof request.sort_order === 'number' || typeof request.sort_target === 'number') throw refuse.invalidSort();
}

export function checkPut(request: PutRequest): void {
  if (request.key.length === 0) throw refuse.emptyKey();
  if (request.ignore_value && request.value.length > 0) throw refuse.valueProvided();
  if (request.ignore_lease && request.lease !== '0') throw refuse.leaseProvided();
}

export function checkDelete(request: DeleteRangeRequest): void {
  if (request.key.length === 0) throw refuse.emptyKey();
}

export function range(view: ReadView, request: RangeRequest): RangeResponse {
  const inRange = view.range(intervalOf(request.key, request.range_end), Number(request.revision));
  const header = { revision: view.revision };
  if (request.count_only) return { header, kvs: [], more: false, count: inRange.length };
  const wanted = inRange.filter(revisionFilter(request));
  const sorted = sort(wanted, request);
  const limit = Number(request.limit);
  const page = limit > 0 ? sorted.slice(0, limit) : sorted;
  return {
    header,
    kvs: page.map((entry) => wireKeyValue(entry, { keysOnly: request.keys_only })),
    more: page.length < sorted.length,
    // etcd counts the keys of the range, whatever filter and limit leave of them.
    count: inRange.length,
  };
}

/** `hasLease` was asked before: a transaction must not fail half-way. */
export function put(view: WriteView, request: PutRequest): PutResponse {
  const key = keyText(request.key);
  const before = view.range(pointInterval(key))[0];
  if (!before && (request.ignore_value || request.ignore_lease)) throw refuse.keyNotFound();
  const value = request.ignore_value && before ? before.value : request.value;
  const lease = request.ignore_lease && before ? before.lease : BigInt(request.lease);
  view.put(key, value, lease);
  return {
    header: { revision: view.revision },
    prev_kv: request.prev_kv && before ? wireKeyValue(before) : null,
  };
}

export function deleteRange(view: WriteView, request: DeleteRangeRequest): DeleteRangeResponse {
  const deleted = view.delete(intervalOf(request.key, request.range_end));
  return {
    header: { revision: view.revision },
    deleted: deleted.length,
    prev_kvs: request.prev_kv ? deleted.map((entry) => wireKeyValue(entry)) : [],
  };
}

function revisionFilter(request: RangeRequest): (entry: Entry) => boolean {
  const within = (revision: number, min: number, max: number) =>
    (min === 0 || revision >= min) && (max === 0 || revision <= max);
  const [minMod, maxMod] = [Number(request.min_mod_revision), Number(request.max_mod_revision)];
  const [minCreate, maxCreate] = [Number(request.min_create_revision), Number(request.max_create_revision)];
  return (entry) => within(entry.modRevision, minMod, maxMod) && within(entry.createRevision, minCreate, maxCreate);
}

const orders: Record<string, (a: Entry, b: Entry) => number> = {
  Key: (a, b) => (a.key < b.key ? -1 : 1),
  Version: (a, b) => a.version - b.version,
  Create: (a, b) => a.createRevision - b.createRevision,
  Mod: (a, b) => a.modRevision - b.modRevision,
  Value: (a, b) => Buffer.compare(a.value, b.value),
};

function sort(entries: Entry[], request: RangeRequest): Entry[] {
  const order = orders[request.sort_target];
  // The store answers by key, ascending. Any other target sorts ascending even when no order is given.
  if (!order || (request.sort_target === 'Key' && request.sort_order !== 'Descend')) return entries;
  const sign = request.sort_order === 'Descend' ? -1 : 1;
  return entries.sort((a, b) => sign * order(a, b));
}
