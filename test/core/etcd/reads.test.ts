import { createRequire } from 'node:module';
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyFromBytes } from '../../../src/core/etcd/key-text.js';
import { authenticate, leaseTimeToLive, type ReadMethod, range, status } from '../../../src/core/etcd/reads.js';

// The oracle is protobufjs with etcd's own definitions, which etcd3 carries.
const protos = loadSync(createRequire(import.meta.url).resolve('etcd3/proto/rpc.proto'), {
  keepCase: true,
  longs: String,
  defaults: true,
});

function oracle(method: ReadMethod<never, unknown>) {
  const [service = '', name = ''] = method.path.slice(1).split('/');
  const found = Object.entries(protos[service] ?? {}).find(([key]) => key === name)?.[1] as {
    requestDeserialize(bytes: Buffer): Record<string, unknown>;
    responseSerialize(message: object): Buffer;
    requestType: MessageTypeDefinition<object, object>;
  };
  expect(found, method.path).toBeDefined();
  return found;
}

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
const header = fc.record({ cluster_id: uint64, member_id: uint64, revision: int64, raft_term: uint64 });
const keyValue = fc.record({
  key: fc.oneof(
    bytes,
    fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
  ),
  value: bytes,
  create_revision: int64,
  mod_revision: int64,
  version: int64,
  lease: int64,
});

/** As protobufjs takes int64. */
const wire = (message: object): object =>
  JSON.parse(
    JSON.stringify(message, (_, v) => (typeof v === 'bigint' ? String(v) : v)),
    (_, v) => (v?.type === 'Buffer' ? Buffer.from(v.data) : v),
  );

const ours = (h: { cluster_id: bigint; member_id: bigint; revision: bigint; raft_term: bigint }) => ({
  clusterId: h.cluster_id,
  memberId: h.member_id,
  revision: h.revision,
  raftTerm: h.raft_term,
});

test('a range answer reads as etcd wrote it: any bytes, any int64', () => {
  fc.assert(
    fc.property(header, fc.array(keyValue, { maxLength: 6 }), fc.boolean(), (head, kvs, more) => {
      const sent = oracle(range).responseSerialize(wire({ header: head, kvs, more, count: kvs.length }));
      expect(range.decode(sent)).toEqual({
        header: ours(head),
        more,
        kvs: kvs.map((kv) => ({
          key: keyFromBytes(kv.key),
          value: kv.value,
          createRevision: kv.create_revision,
          modRevision: kv.mod_revision,
          version: kv.version,
          lease: kv.lease,
        })),
      });
    }),
  );
});

test('a range request reaches etcd as it was meant', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.option(fc.string({ minLength: 1 })),
      int64,
      int64,
      fc.boolean(),
      (key, end, ...rest) => {
        const [limit, revision, keysOnly] = rest;
        const sent = range.encode({ range: { key, ...(end !== null && { end }) }, limit, revision, keysOnly });
        expect(oracle(range).requestDeserialize(sent)).toMatchObject({
          key: Buffer.from(key),
          range_end: Buffer.from(end ?? ''),
          limit: String(limit),
          revision: String(revision),
          keys_only: keysOnly,
          serializable: false,
          count_only: false,
        });
      },
    ),
  );
});

test('lease, token and status are read, and asked for', () => {
  fc.assert(
    fc.property(int64, fc.integer({ min: -1, max: 2 ** 31 }), fc.array(bytes), header, (id, ttl, keys, head) => {
      expect(oracle(leaseTimeToLive).requestDeserialize(leaseTimeToLive.encode(id))).toEqual({
        ID: String(id),
        keys: true,
      });
      const lease = oracle(leaseTimeToLive).responseSerialize(
        wire({ header: head, ID: id, TTL: ttl, grantedTTL: 9, keys }),
      );
      expect(leaseTimeToLive.decode(lease)).toEqual({
        remainingSeconds: ttl,
        grantedSeconds: 9,
        keys: keys.map(keyFromBytes),
      });
      const state = wire({ header: head, version: '3.4.23', dbSize: 2 ** 40, leader: head.member_id, raftIndex: 7 });
      expect(status.decode(oracle(status).responseSerialize(state))).toEqual({
        header: ours(head),
        version: '3.4.23',
        dbSizeBytes: 2 ** 40,
        leader: head.member_id,
      });
    }),
  );
  const account = { name: 'ännchen', password: 'pass word' };
  expect(oracle(authenticate).requestDeserialize(authenticate.encode(account))).toEqual(account);
  expect(authenticate.decode(oracle(authenticate).responseSerialize({ token: 'a.b.c' }))).toBe('a.b.c');
});

test('fields of a newer etcd are skipped', () => {
  const unknown = Buffer.from([
    0xf8, 0x01, 0x05, 0xfa, 0x01, 2, 1, 2, 0xf9, 0x01, 1, 2, 3, 4, 5, 6, 7, 8, 0xfd, 0x01, 1, 2, 3, 4,
  ]);
  const known = oracle(range).responseSerialize({ kvs: [{ key: Buffer.from('k') }], more: true });
  expect(range.decode(Buffer.concat([unknown, known, unknown]))).toEqual(range.decode(known));
});

test('a message that is cut off or garbled is an error, never a wrong answer without end', () => {
  const whole = oracle(range).responseSerialize({ kvs: [{ key: Buffer.from('key'), value: Buffer.from('value') }] });
  for (let length = 1; length < whole.length; length++) {
    expect(() => range.decode(whole.subarray(0, length)), `${length} bytes`).toThrow(RangeError);
  }
  expect(() => range.decode(Buffer.alloc(12, 0xff))).toThrow(RangeError);
  fc.assert(
    fc.property(bytes, (garbage) => {
      try {
        range.decode(garbage);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }),
  );
});
