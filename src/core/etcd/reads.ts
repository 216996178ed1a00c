import { keyFromBytes, keyToBytes } from './key-text.js';
import type { Header, KeyRange, KeyValue, LeaseInfo } from './port.js';
import { encodeMessage, MessageReader } from './wire.js';

/*
 * etcd's reads, with a codec of their own: a verb that only reads starts without etcd3, whose loading takes longer than
 * all of the reading. Field numbers: etcd api/etcdserverpb/rpc.proto and api/mvccpb/kv.proto.
 */

/** A unary method of etcd. */
export interface ReadMethod<Request, Answer> {
  readonly path: string;
  encode(request: Request): Buffer;
  /** @throws when the bytes are no such message. */
  decode(bytes: Buffer): Answer;
}

export interface RangeRequest {
  readonly range: KeyRange;
  readonly limit: bigint;
  /** 0n: the newest. */
  readonly revision: bigint;
  readonly keysOnly: boolean;
}

export interface RangeAnswer {
  readonly header: Header;
  readonly kvs: readonly KeyValue[];
  /** There are more than `limit`. */
  readonly more: boolean;
}

export const range: ReadMethod<RangeRequest, RangeAnswer> = {
  path: '/etcdserverpb.KV/Range',
  encode: ({ range: { key, end }, limit, revision, keysOnly }) =>
    encodeMessage([
      [1, keyToBytes(key)],
      [2, end === undefined ? '' : keyToBytes(end)],
      [3, limit],
      [4, revision],
      [8, keysOnly],
    ]),
  decode(bytes) {
    let header = noHeader;
    const kvs: KeyValue[] = [];
    let more = false;
    for (const reader = new MessageReader(bytes); reader.next(); ) {
      if (reader.field === 1) header = decodeHeader(reader.message());
      else if (reader.field === 2) kvs.push(decodeKeyValue(reader.message()));
      else if (reader.field === 3) more = reader.bool();
    }
    return { header, kvs, more };
  },
};

/** The lease with this id, and its keys. */
export const leaseTimeToLive: ReadMethod<bigint, LeaseInfo> = {
  path: '/etcdserverpb.Lease/LeaseTimeToLive',
  encode: (id) =>
    encodeMessage([
      [1, id],
      [2, true],
    ]),
  decode(bytes) {
    const keys: string[] = [];
    let remainingSeconds = 0;
    let grantedSeconds = 0;
    for (const reader = new MessageReader(bytes); reader.next(); ) {
      if (reader.field === 3) remainingSeconds = Number(reader.int64());
      else if (reader.field === 4) grantedSeconds = Number(reader.int64());
      else if (reader.field === 5) keys.push(decodeKey(reader));
    }
    return { remainingSeconds, grantedSeconds, keys };
  },
};

/** Gives a token. */
export const authenticate: ReadMethod<{ readonly name: string; readonly password: string }, string> = {
  path: '/etcdserverpb.Auth/Authenticate',
  encode: ({ name, password }) =>
    encodeMessage([
      [1, name],
      [2, password],
    ]),
  decode(bytes) {
    let token = '';
    for (const reader = new MessageReader(bytes); reader.next(); ) if (reader.field === 2) token = reader.text();
    return token;
  },
};

export interface StatusAnswer {
  readonly header: Header;
  readonly version: string;
  readonly dbSizeBytes: number;
  /** Member id of the leader; 0n when there is none. */
  readonly leader: bigint;
}

export const status: ReadMethod<null, StatusAnswer> = {
  path: '/etcdserverpb.Maintenance/Status',
  encode: () => encodeMessage([]),
  decode(bytes) {
    let header = noHeader;
    let version = '';
    let dbSizeBytes = 0;
    let leader = 0n;
    for (const reader = new MessageReader(bytes); reader.next(); ) {
      if (reader.field === 1) header = decodeHeader(reader.message());
      else if (reader.field === 2) version = reader.text();
      else if (reader.field === 3) dbSizeBytes = Number(reader.int64());
      else if (reader.field === 4) leader = reader.uint64();
    }
    return { header, version, dbSizeBytes, leader };
  },
};

const noHeader: Header = { clusterId: 0n, memberId: 0n, revision: 0n, raftTerm: 0n };

function decodeHeader(reader: MessageReader): Header {
  let { clusterId, memberId, revision, raftTerm } = noHeader;
  while (reader.next()) {
    if (reader.field === 1) clusterId = reader.uint64();
    else if (reader.field === 2) memberId = reader.uint64();
    else if (reader.field === 3) revision = reader.int64();
    else if (reader.field === 4) raftTerm = reader.uint64();
  }
  return { clusterId, memberId, revision, raftTerm };
}

const nothing = Buffer.alloc(0);

function decodeKeyValue(reader: MessageReader): KeyValue {
  let key = '';
  let value: Buffer = nothing;
  let createRevision = 0n;
  let modRevision = 0n;
  let version = 0n;
  let lease = 0n;
  while (reader.next()) {
    if (reader.field === 1) key = decodeKey(reader);
    else if (reader.field === 2) createRevision = reader.int64();
    else if (reader.field === 3) modRevision = reader.int64();
    else if (reader.field === 4) version = reader.int64();
    else if (reader.field === 5) value = reader.bytes();
    else if (reader.field === 6) lease = reader.int64();
  }
  return { key, value, createRevision, modRevision, version, lease };
}

function decodeKey(reader: MessageReader): string {
  const text = reader.text();
  // U+FFFD stands for bytes that are not UTF-8, or for itself.
  return text.includes('\ufffd') ? keyFromBytes(reader.bytes()) : text;
}
