import type { IRequestOp } from 'etcd3';
import { expect, test } from 'vitest';
import { bytes, everythingUnder, get, put, refusalOf } from './helpers.js';
import { onEveryTarget } from './targets.js';

onEveryTarget((etcd) => {
  const kv = () => etcd.client.kv;
  const empty = Buffer.alloc(0);

  test('an empty key', async () => {
    const text = '3 INVALID_ARGUMENT: etcdserver: key is not provided';
    expect(await refusalOf(kv().put({ key: empty, value: bytes('x') }))).toBe(text);
    expect(await refusalOf(kv().range({ key: empty, range_end: bytes('z') }))).toBe(text);
    expect(await refusalOf(kv().deleteRange({ key: empty }))).toBe(text);
    expect(await refusalOf(kv().txn({ compare: [{ key: empty }] }))).toBe(text);
    expect(await refusalOf(kv().txn({ failure: [{ request_put: { key: empty } }] }))).toBe(text);
  });

  test('ignore_value and ignore_lease: no such key, and a value or lease given all the same', async () => {
    const key = bytes(`${etcd.prefix()}a`);
    const missing = '3 INVALID_ARGUMENT: etcdserver: key not found';
    expect(await refusalOf(kv().put({ key, ignore_value: true }))).toBe(missing);
    expect(await refusalOf(kv().put({ key, value: bytes('x'), ignore_lease: true }))).toBe(missing);
    expect(await refusalOf(kv().put({ key, value: bytes('x'), ignore_value: true }))).toBe(
      '3 INVALID_ARGUMENT: etcdserver: value is provided',
    );
    expect(await refusalOf(kv().put({ key, lease: 5, ignore_lease: true }))).toBe(
      '3 INVALID_ARGUMENT: etcdserver: lease is provided',
    );
  });

  test('a put under an unknown lease, alone and in a transaction, changes nothing', async () => {
    const key = bytes(`${etcd.prefix()}a`);
    // The class that etcd3 makes of it puts its own words before the code.
    const text = 'Lease 5 NOT_FOUND: etcdserver: requested lease not found';
    const reported = async (call: Promise<unknown>) => (await refusalOf(call)).slice(0, text.length);
    expect(await reported(kv().put({ key, lease: 4713 }))).toBe(text);
    const operations: IRequestOp[] = [
      { request_put: { key: bytes(`${key}-other`), value: bytes('1') } },
      { request_put: { key, lease: 4713 } },
    ];
    expect(await reported(kv().txn({ success: operations }))).toBe(text);
    expect(await get(etcd.client, `${key}-other`)).toBeUndefined();
  });

  test('revisions: of the future, and compacted; the compacted one itself is still there', async () => {
    const prefix = etcd.prefix();
    const future = '11 OUT_OF_RANGE: etcdserver: mvcc: required revision is a future revision';
    const compacted = '11 OUT_OF_RANGE: etcdserver: mvcc: required revision has been compacted';
    const first = await put(etcd.client, `${prefix}a`, '1');
    const second = await put(etcd.client, `${prefix}a`, '2');
    const read = (revision: number) => kv().range({ ...everythingUnder(prefix), revision });
    const readInTxn = (revision: number) =>
      kv().txn({ success: [{ request_range: { ...everythingUnder(prefix), revision } }] });
    expect(await refusalOf(read(second + 1))).toBe(future);
    expect(await refusalOf(readInTxn(second + 1))).toBe(future);
    expect(await refusalOf(kv().compact({ revision: second + 1 }))).toBe(future);
    expect((await kv().compact({ revision: second })).header.revision).toBe(String(second));
    expect(await refusalOf(read(first))).toBe(compacted);
    expect(await refusalOf(readInTxn(first))).toBe(compacted);
    expect(await refusalOf(kv().compact({ revision: second }))).toBe(compacted);
    expect((await read(second)).kvs[0]?.value).toEqual(bytes('2'));
  });

  test('compaction keeps the living, forgets the dead, and does not move revisions', async () => {
    const prefix = etcd.prefix();
    const created = await put(etcd.client, `${prefix}alive`, '1');
    await put(etcd.client, `${prefix}dead`, '1');
    await kv().deleteRange({ key: bytes(`${prefix}dead`) });
    const last = await put(etcd.client, `${prefix}alive`, '2');
    await kv().compact({ revision: last });
    const { kvs, header } = await kv().range(everythingUnder(prefix));
    expect(kvs.map((entry) => [entry.key.toString(), entry.create_revision, entry.version])).toEqual([
      [`${prefix}alive`, String(created), '2'],
    ]);
    expect(header.revision).toBe(String(last));
  });

  test('129 operations, comparisons, or operations of a nested transaction together with those around it', async () => {
    const prefix = etcd.prefix();
    const text = '3 INVALID_ARGUMENT: etcdserver: too many operations in txn request';
    const reads = (count: number): IRequestOp[] =>
      Array.from({ length: count }, () => ({ request_range: { key: bytes(`${prefix}a`) } }));
    const compare = Array.from({ length: 129 }, () => ({ key: bytes(`${prefix}a`) }));
    expect(await refusalOf(kv().txn({ success: reads(129) }))).toBe(text);
    expect(await refusalOf(kv().txn({ failure: reads(129) }))).toBe(text);
    expect(await refusalOf(kv().txn({ compare }))).toBe(text);
    const nested = (count: number): IRequestOp[] => [...reads(63), { request_txn: { success: reads(count) } }];
    expect(await refusalOf(kv().txn({ success: nested(65) }))).toBe(text);
    expect((await kv().txn({ success: nested(64) })).succeeded).toBe(true);
  });

  test('a key put twice, or put and deleted, in one transaction', async () => {
    const prefix = etcd.prefix();
    const text = '3 INVALID_ARGUMENT: etcdserver: duplicate key given in txn request';
    const write: IRequestOp = { request_put: { key: bytes(`${prefix}a`) } };
    const remove: IRequestOp = { request_delete_range: everythingUnder(prefix) };
    expect(await refusalOf(kv().txn({ success: [write, write] }))).toBe(text);
    expect(await refusalOf(kv().txn({ failure: [write, write] }))).toBe(text);
    expect(await refusalOf(kv().txn({ success: [write, remove] }))).toBe(text);
    expect(await refusalOf(kv().txn({ success: [remove, write] }))).toBe(text);
    expect(await refusalOf(kv().txn({ success: [write, { request_txn: { failure: [write] } }] }))).toBe(text);
    expect(await refusalOf(kv().txn({ success: [remove, { request_txn: { success: [write] } }] }))).toBe(text);
    expect(await refusalOf(kv().txn({ success: [{ request_txn: { success: [remove] } }, write] }))).toBe(text);
    expect((await kv().txn({ success: [remove, remove] })).succeeded).toBe(true);
    expect((await kv().txn({ success: [write], failure: [write] })).succeeded).toBe(true);
  });

  test('an operation that is none', async () => {
    expect(await refusalOf(kv().txn({ success: [{}] }))).toBe('3 INVALID_ARGUMENT: etcdserver: key not found');
  });

  test('1.5 MiB: just below is stored, above it is refused', async () => {
    const key = `${etcd.prefix()}a`;
    const limit = 1.5 * 1024 * 1024;
    const text = '3 INVALID_ARGUMENT: etcdserver: request is too large';
    await put(etcd.client, key, 'x'.repeat(limit - 100));
    expect((await get(etcd.client, key))?.value.length).toBe(limit - 100);
    expect(await refusalOf(put(etcd.client, key, 'x'.repeat(limit)))).toBe(text);
    const write: IRequestOp = { request_put: { key: bytes(key), value: Buffer.alloc(limit) } };
    expect(await refusalOf(kv().txn({ success: [write] }))).toBe(text);
  });

  test('2 MiB: the message itself is refused, with its size', async () => {
    const key = bytes(`${etcd.prefix()}a`);
    const limit = 2 * 1024 * 1024;
    const message = await refusalOf(kv().put({ key, value: Buffer.alloc(limit) }));
    expect(message).toMatch(
      new RegExp(`^8 RESOURCE_EXHAUSTED: grpc: received message larger than max \\(\\d+ vs\\. ${limit}\\)$`),
    );
  });

  test('leases: an id in use, too long a TTL', async () => {
    const ID = '4714';
    await etcd.client.leaseClient.leaseGrant({ TTL: 60, ID });
    expect(await refusalOf(etcd.client.leaseClient.leaseGrant({ TTL: 60, ID }))).toBe(
      '9 FAILED_PRECONDITION: etcdserver: lease already exists',
    );
    expect(await refusalOf(etcd.client.leaseClient.leaseGrant({ TTL: 9_000_000_001 }))).toBe(
      '11 OUT_OF_RANGE: etcdserver: too large lease TTL',
    );
    expect((await etcd.client.leaseClient.leaseGrant({ TTL: 9_000_000_000 })).TTL).toBe('9000000000');
  });

  test('a password where there are no users', async () => {
    expect(await refusalOf(etcd.client.auth.authenticate({ name: 'ann', password: 'pw' }))).toBe(
      '9 FAILED_PRECONDITION: etcdserver: authentication is not enabled',
    );
  });
});
