import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connect } from '../../../src/core/etcd/connection.js';
import { prefixRange } from '../../../src/core/etcd/key-text.js';
import type { Compare } from '../../../src/core/etcd/port.js';
import { open, record } from '../../support/etcd-client.js';
import { type EtcdProcess, etcdctl, startEtcd } from '../../support/etcd-process.js';
import { startProxy } from '../../support/tcp-proxy.js';

let server: EtcdProcess;
beforeAll(async () => {
  server = await startEtcd({ args: ['--max-txn-ops', '2000'] });
});
afterAll(() => server.stop());

test('what a transaction writes, a list reads: keys of any bytes, binary values, leases', async () => {
  const etcd = await open(server.endpoint);
  const lease = await etcd.grantLease(60);
  const value = Buffer.from('00ff80', 'hex');
  const put = await etcd.txn({
    success: [
      { put: 'any/\udcffz', value, lease },
      { put: 'any/a', value: 'ü' },
    ],
  });
  const { kvs, header } = await etcd.list(prefixRange('any/'));
  expect(kvs).toMatchObject([
    { key: 'any/a', value: Buffer.from('ü'), lease: 0n, version: 1n, modRevision: put.header.revision },
    { key: 'any/\udcffz', value, lease, version: 1n, createRevision: put.header.revision },
  ]);
  expect(header.revision).toBe(put.header.revision);
  expect(await etcd.leaseInfo(lease)).toMatchObject({ grantedSeconds: 60, keys: ['any/\udcffz'] });
  await etcd.revokeLease(lease);
  expect(await etcd.leaseInfo(lease)).toMatchObject({ remainingSeconds: -1 });
  await etcd.revokeLease(lease);
});

test('a list of many keys is one revision, although a writer changes them between the pages', async () => {
  const etcd = await open(server.endpoint);
  const count = 12_000;
  for (let from = 0; from < count; from += 2000) {
    const success = Array.from({ length: 2000 }, (_, i) => ({
      put: `many/${String(from + i).padStart(5, '0')}`,
      value: 'v',
    }));
    await etcd.txn({ success });
  }
  let writing = true;
  const writer = (async () => {
    while (writing) {
      // The last page would see more or fewer keys if it were read at a later revision.
      await etcd.txn({ success: [{ delete: { key: 'many/11999' } }] });
      await etcd.txn({ success: [{ put: 'many/11999', value: 'v' }] });
    }
  })();
  for (let i = 0; i < 3; i++) {
    const { kvs, header } = await etcd.list(prefixRange('many/'), { keysOnly: true });
    expect(kvs.every((kv) => kv.modRevision <= header.revision)).toBe(true);
    expect(new Set(kvs.map((kv) => kv.key)).size).toBe(kvs.length);
    expect(count - kvs.length).toBeLessThanOrEqual(1);
  }
  writing = false;
  await writer;
});

test('every comparison decides as etcd defines it', async () => {
  const etcd = await open(server.endpoint);
  const lease = await etcd.grantLease(60);
  const { header } = await etcd.txn({ success: [{ put: 'cmp/k', value: 'v', lease }] });
  const revision = header.revision;
  const key = 'cmp/k';
  const holds: Compare[] = [
    { key, target: 'value', is: '=', value: 'v' },
    { key, target: 'value', is: '!=', value: 'w' },
    { key, target: 'version', is: '=', value: 1n },
    { key, target: 'create', is: '<', value: revision + 1n },
    { key, target: 'mod', is: '>', value: revision - 1n },
    { key, target: 'mod', is: '=', value: revision },
    { key, target: 'lease', is: '=', value: lease },
    { key: 'cmp/none', target: 'create', is: '=', value: 0n },
  ];
  for (const compare of holds) {
    expect(await etcd.txn({ compare: [compare], success: [] }), JSON.stringify(compare, String)).toMatchObject({
      succeeded: true,
    });
  }
  const opposite = { '=': '!=', '!=': '=', '<': '>', '>': '<' } as const;
  for (const compare of holds) {
    const turned = { ...compare, is: opposite[compare.is] } as Compare;
    expect(await etcd.txn({ compare: [turned], success: [] }), JSON.stringify(turned, String)).toMatchObject({
      succeeded: false,
    });
  }
  const other = await etcd.txn({
    compare: [{ key, target: 'version', is: '=', value: 9n }],
    success: [{ delete: { key } }],
    failure: [{ get: { key } }, { put: key, value: 'w', ignoreLease: true }, { delete: { key: 'cmp/none' } }],
  });
  expect(other.results.map((r) => [r.kvs.length, r.deleted])).toEqual([
    [1, 0],
    [0, 0],
    [0, 0],
  ]);
  const { kvs } = await etcd.list({ key });
  expect(kvs).toMatchObject([{ lease, version: 2n, value: Buffer.from('w') }]);
  expect((await etcd.txn({ success: [{ delete: prefixRange('cmp/') }] })).results).toEqual([{ kvs: [], deleted: 1 }]);
});

test.each([
  ['a put under a lease that is gone', 'LEASE_NOT_FOUND', { put: 'e/k', value: 'v', lease: 5n }],
  ['ignoreLease without a key', 'ETCD_REJECTED', { put: 'e/none', value: 'v', ignoreLease: true }],
  ['a value beyond 1.5 MiB', 'ETCD_REJECTED', { put: 'e/k', value: Buffer.alloc(1_700_000) }],
])('%s is refused by etcd as %s', async (_, code, operation) => {
  const etcd = await open(server.endpoint);
  await expect(etcd.txn({ success: [operation] })).rejects.toMatchObject({ code });
});

test('users with equal settings share one connection, and the last one closes it', async () => {
  const proxy = await startProxy(server.port);
  const settings = { endpoints: [proxy.address] };
  const users = await Promise.all([1, 2, 3, 4].map(() => connect(settings)));
  await Promise.all(users.map((user) => user.list({ key: 'shared' })));
  expect(proxy.accepted).toBe(1);
  const [last, ...others] = users;
  await Promise.all(others.map((user) => user.close()));
  await expect(others[0]?.list({ key: 'shared' })).rejects.toThrow('closed already');
  await last?.list({ key: 'shared' });
  expect(proxy.accepted).toBe(1);
  await last?.close();
  const next = await connect(settings);
  await next.list({ key: 'shared' });
  expect(proxy.accepted).toBe(2);
  await next.close();
  await proxy.close();
});

test('one user leaving takes its own watch and lease along, and nobody else’s', async () => {
  const settings = { endpoints: [server.endpoint] };
  const [leaving, staying] = await Promise.all([connect(settings), connect(settings)]);
  const lost: string[] = [];
  const lease = await leaving.holdLease(2, { lost: () => lost.push('leaving') });
  const kept = await staying.holdLease(2, { lost: () => lost.push('staying') });
  const revision = (await staying.list({ key: 'x' })).header.revision;
  const left = record(leaving, [{ key: 'leave/k' }], revision);
  const stayed = record(staying, [{ key: 'leave/k' }], revision);
  await vi.waitUntil(() => left.states.length + stayed.states.length === 2);
  await leaving.close();
  await staying.txn({ success: [{ put: 'leave/k', value: 'v' }] });
  await vi.waitUntil(() => stayed.events.length === 1);
  await vi.waitUntil(async () => (await staying.leaseInfo(lease.id)).remainingSeconds === -1, {
    timeout: 6000,
    interval: 100,
  });
  expect((await staying.leaseInfo(kept.id)).remainingSeconds).toBeGreaterThanOrEqual(0);
  expect([left.events, lost]).toEqual([[], []]);
  await staying.close();
});

test('the status names version, size and leader', async () => {
  const etcd = await open(server.endpoint);
  const [member] = await etcd.status();
  expect(member).toMatchObject({ endpoint: server.endpoint, isLeader: true, version: expect.stringMatching(/^3\./) });
  expect(member?.dbSizeBytes).toBeGreaterThan(1000);
});

test('a program exits at once after close, with a watch and a lease open', { timeout: 30_000 }, async () => {
  const program = `
    import { connect } from './src/core/etcd/connection.ts';
    const etcd = await connect({ endpoints: [process.argv[1]] });
    const lease = await etcd.holdLease(30, { lost() {} });
    await etcd.txn({ success: [{ put: 'exit/k', value: 'v', lease: lease.id }] });
    await new Promise((live) => etcd.watch({ ranges: [{ key: 'exit/k' }], afterRevision: 1n },
      { events() {}, live, stale() {}, lost() {}, denied() {} }));
    const closing = performance.now();
    await etcd.close();
    process.on('exit', () => console.log(Math.round(performance.now() - closing)));
  `;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', program, server.endpoint];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 });
  expect(Number(stdout)).toBeLessThan(500);
  expect(await etcdctl(server.endpoint, 'get', 'exit/k')).toBe('exit/k\nv\n');
});
