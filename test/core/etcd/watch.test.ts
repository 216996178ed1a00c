import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { prefixRange } from '../../../src/core/etcd/key-text.js';
import type { Etcd } from '../../../src/core/etcd/port.js';
import { open, record } from '../../support/etcd-client.js';
import { type EtcdProcess, etcdctl, startEtcd } from '../../support/etcd-process.js';
import { startProxy } from '../../support/tcp-proxy.js';

let server: EtcdProcess;
beforeAll(async () => {
  server = await startEtcd();
});
afterAll(() => server.stop());

const put = (etcd: Etcd, key: string, value: Buffer | string = 'v') => etcd.txn({ success: [{ put: key, value }] });
const revisionOf = async (etcd: Etcd) => (await etcd.list({ key: 'any' })).header.revision;

test('a watch tells all that comes after its revision: per range, in order, with the value before', async () => {
  const etcd = await open(server.endpoint);
  await put(etcd, 'w1/before');
  const first = (await put(etcd, 'w1/k', 'one')).header.revision;
  await put(etcd, 'w1/k', 'two');
  await put(etcd, 'other/k');
  const seen = record(etcd, [prefixRange('w1/'), { key: 'w2/k' }], first);
  await vi.waitUntil(() => seen.states.includes('live'));
  await etcd.txn({
    success: [{ put: 'w1/\udcff', value: 'x' }, { delete: { key: 'w1/k' } }, { put: 'w2/k', value: 'y' }],
  });
  await vi.waitUntil(() => seen.events.length === 4);
  const inRange = (index: number) =>
    seen.raw.filter((batch) => batch.rangeIndex === index).flatMap((batch) => batch.events);
  expect(inRange(0)).toMatchObject([
    { type: 'put', kv: { key: 'w1/k', modRevision: first + 1n }, previous: { value: Buffer.from('one') } },
    { type: 'put', kv: { key: 'w1/\udcff', modRevision: first + 3n }, previous: null },
    { type: 'delete', kv: { key: 'w1/k', modRevision: first + 3n }, previous: { value: Buffer.from('two') } },
  ]);
  expect(inRange(1)).toMatchObject([{ type: 'put', kv: { key: 'w2/k' } }]);
  expect(seen.raw.every((batch) => batch.revision === batch.events.at(-1)?.kv.modRevision)).toBe(true);
  expect(seen.states).toEqual(['live']);
});

test('what happens while the stream is cut is delivered once, and nothing twice', async () => {
  const proxy = await startProxy(server.port);
  const etcd = await open(proxy.address);
  const writer = await open(server.endpoint);
  const seen = record(etcd, [prefixRange('cut/')], await revisionOf(writer));
  await vi.waitUntil(() => seen.states.includes('live'));
  for (let round = 0; round < 3; round++) {
    await put(writer, `cut/${round}a`);
    await vi.waitUntil(() => seen.events.length === round * 3 + 1);
    proxy.cut({ refuse: true });
    await put(writer, `cut/${round}b`);
    await vi.waitUntil(() => seen.states.at(-1) === 'stale');
    await put(writer, `cut/${round}c`);
    proxy.heal();
    await vi.waitUntil(() => seen.states.at(-1) === 'live' && seen.events.length === round * 3 + 3, { timeout: 5000 });
  }
  expect(seen.events.map((event) => event.slice(4, 10))).toEqual(
    [0, 1, 2].flatMap((round) => ['a', 'b', 'c'].map((letter) => `cut/${round}${letter}`)),
  );
  expect(seen.states).toEqual(['live', 'stale', 'live', 'stale', 'live', 'stale', 'live']);
});

test('a backlog of 6 MB in 6 events arrives whole', async () => {
  const proxy = await startProxy(server.port);
  const etcd = await open(proxy.address);
  const writer = await open(server.endpoint);
  const seen = record(etcd, [prefixRange('big/')], await revisionOf(writer));
  await vi.waitUntil(() => seen.states.includes('live'));
  proxy.cut({ refuse: true });
  for (let i = 0; i < 6; i++) await put(writer, `big/${i}`, Buffer.alloc(1 << 20, String(i)));
  proxy.heal();
  await vi.waitUntil(() => seen.events.length >= 6, { timeout: 10_000 });
  expect(seen.raw.flatMap((batch) => batch.events).map((event) => [event.kv.key, event.kv.value.length])).toEqual(
    [0, 1, 2, 3, 4, 5].map((i) => [`big/${i}`, 1 << 20]),
  );
});

test('a watch that was cut off past a compaction is lost, once', async () => {
  const proxy = await startProxy(server.port);
  const etcd = await open(proxy.address);
  const writer = await open(server.endpoint);
  const seen = record(etcd, [{ key: 'quiet' }, prefixRange('comp/')], await revisionOf(writer));
  await vi.waitUntil(() => seen.states.includes('live'));
  proxy.cut({ refuse: true });
  for (let i = 0; i < 3; i++) await put(writer, 'comp/k', String(i));
  await etcdctl(server.endpoint, 'compact', String(await revisionOf(writer)));
  proxy.heal();
  await vi.waitUntil(() => seen.states.at(-1)?.startsWith('lost'), { timeout: 5000 });
  // etcd first says "created" and only then that the history is gone, so a "live" may stand between.
  expect(seen.states.filter((state) => state !== 'live')).toEqual(['stale', 'lost:compacted']);
  await seen.watch.close();
  expect(seen.events).toEqual([]);
});

test('a watch whose server answers nothing any more is stale within 7 s, and live soon after it answers', async () => {
  const proxy = await startProxy(server.port);
  const etcd = await open(proxy.address);
  const writer = await open(server.endpoint);
  const seen = record(etcd, [{ key: 'mute/k' }], await revisionOf(writer));
  await vi.waitUntil(() => seen.states.includes('live'));
  proxy.loseAnswers();
  await put(writer, 'mute/k', '1');
  await vi.waitUntil(() => seen.states.at(-1) === 'stale', { timeout: 7000 });
  proxy.heal();
  await vi.waitUntil(() => seen.states.at(-1) === 'live' && seen.events.length === 1, { timeout: 5000 });
});

test('an etcd that is stopped for a while is found again within 5 s, in order and complete', async () => {
  const own = await startEtcd();
  const etcd = await open(own.endpoint);
  const seen = record(etcd, [prefixRange('stop/')], await revisionOf(etcd));
  await vi.waitUntil(() => seen.states.includes('live'));
  own.suspend();
  await vi.waitUntil(() => seen.states.at(-1) === 'stale', { timeout: 8000 });
  own.resume();
  await vi.waitUntil(() => seen.states.at(-1) === 'live', { timeout: 5000 });
  await put(etcd, 'stop/k');
  await vi.waitUntil(() => seen.events.length === 1);
  await own.stop();
});

test('a watch opened while etcd is away waits for it; a store that comes back empty is told as wiped', async () => {
  const own = await startEtcd();
  const etcd = await open(own.endpoint);
  for (let i = 0; i < 10; i++) await put(etcd, `wipe/${i}`);
  const revision = await revisionOf(etcd);
  await own.kill();
  const seen = record(etcd, [prefixRange('wipe/')], revision);
  await vi.waitUntil(() => seen.states.at(-1) === 'stale');
  expect(seen.reasons).toEqual([expect.stringContaining('refused the connection')]);
  await own.restart();
  await vi.waitUntil(() => seen.states.at(-1) === 'live', { timeout: 5000 });
  await put(etcd, 'wipe/new');
  await vi.waitUntil(() => seen.events.length === 1);
  await own.restart({ wipe: true });
  await vi.waitUntil(() => seen.states.at(-1)?.startsWith('lost'), { timeout: 5000 });
  expect(seen.states).toEqual(['stale', 'live', 'stale', 'lost:wiped']);
  await own.stop();
});

test('a store that was wiped and has grown past the resume point is told as wiped all the same', async () => {
  const own = await startEtcd();
  const etcd = await open(own.endpoint);
  await put(etcd, 'k');
  // A restart raises the raft term, which is what gives a wiped store away when its revisions do not.
  await own.restart();
  const seen = record(etcd, [{ key: 'k' }], await revisionOf(etcd));
  await vi.waitUntil(() => seen.states.includes('live'), { timeout: 5000 });
  const proxyless = own.restart({ wipe: true });
  await vi.waitUntil(() => seen.states.at(-1) === 'stale');
  await proxyless;
  const writer = await open(own.endpoint);
  for (let i = 0; i < 20; i++) await put(writer, 'k');
  await vi.waitUntil(() => seen.states.at(-1) === 'lost:wiped', { timeout: 5000 });
  expect(seen.events).toEqual([]);
  await own.stop();
});

test('a server that refuses calls while it still serves the stream is not trusted any more', async () => {
  const own = await startEtcd();
  const etcd = await open(own.endpoint);
  const seen = record(etcd, [{ key: 'k' }], await revisionOf(etcd));
  await vi.waitUntil(() => seen.states.includes('live'));
  const since = performance.now();
  process.kill(own.pid, 'SIGTERM');
  await vi.waitUntil(async () => (await etcd.list({ key: 'k' }, { timeoutMs: 300 }).catch(() => null)) === null);
  // From 3.6 on the stream would look healthy for 7 s.
  await vi.waitUntil(() => seen.states.at(-1) === 'stale', { timeout: 2000 });
  expect(performance.now() - since).toBeLessThan(4000);
  await own.restart();
  await vi.waitUntil(() => seen.states.at(-1) === 'live', { timeout: 5000 });
  await own.stop();
});

test('no handler is called after close, which ends the watcher on the server', async () => {
  const etcd = await open(server.endpoint);
  const watchers = async () => {
    const text = await (await fetch(`${server.endpoint}/metrics`)).text();
    return Number(/^etcd_debugging_mvcc_watcher_total (\d+)/m.exec(text)?.[1]);
  };
  const before = await watchers();
  const seen = record(etcd, [prefixRange('end/')], await revisionOf(etcd));
  await vi.waitUntil(() => seen.states.includes('live'));
  expect(await watchers()).toBe(before + 1);
  await put(etcd, 'end/1');
  await vi.waitUntil(() => seen.events.length === 1);
  await Promise.all([seen.watch.close(), seen.watch.close()]);
  await put(etcd, 'end/2');
  await vi.waitUntil(async () => (await watchers()) === before, { timeout: 5000 });
  expect([seen.events.length, seen.states]).toEqual([1, ['live']]);
});
