import type { IEvent, IKeyValue, IRequestOp, IResponseHeader } from 'etcd3';
import { keyFromBytes, keyToBytes } from './key-text.js';
import type { Header, KeyRange, KeyValue, Operation, WatchEvent } from './port.js';

/* Between etcd3's messages (int64 as decimal strings, keys as bytes) and the port. */

export function toHeader(header: IResponseHeader): Header {
  return {
    clusterId: BigInt(header.cluster_id),
    memberId: BigInt(header.member_id),
    revision: BigInt(header.revision),
    raftTerm: BigInt(header.raft_term),
  };
}

export function toKeyValue(kv: IKeyValue): KeyValue {
  return {
    key: keyFromBytes(kv.key),
    value: kv.value,
    createRevision: BigInt(kv.create_revision),
    modRevision: BigInt(kv.mod_revision),
    version: BigInt(kv.version),
    lease: BigInt(kv.lease),
  };
}

export function toEvent(event: IEvent): WatchEvent {
  return {
    // etcd3's type says "Delete", the wire's name is "DELETE".
    type: event.type.toUpperCase() === 'DELETE' ? 'delete' : 'put',
    kv: toKeyValue(event.kv),
    previous: event.prev_kv ? toKeyValue(event.prev_kv) : null,
  };
}

export function rangeBytes(range: KeyRange): { key: Buffer; range_end?: Buffer } {
  const key = keyToBytes(range.key);
  return range.end === undefined ? { key } : { key, range_end: keyToBytes(range.end) };
}

export function toRequestOp(operation: Operation): IRequestOp {
  if ('put' in operation) {
    return {
      request_put: {
        key: keyToBytes(operation.put),
        value: toBytes(operation.value),
        lease: String(operation.lease ?? 0n),
        ignore_lease: operation.ignoreLease === true,
      },
    };
  }
  if ('delete' in operation) return { request_delete_range: rangeBytes(operation.delete) };
  return { request_range: rangeBytes(operation.get) };
}

export function toBytes(value: Buffer | string): Buffer {
  return typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
}
