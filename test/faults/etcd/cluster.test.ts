import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Etcd } from '../../../src/core/etcd/port.js';
import { open, record } from '../../support/etcd-client.js';
import { type EtcdProcess, startCluster, startEtcd } from '../../support/etcd-process.js';

let members: EtcdProcess[];
beforeAll(async () => {
  members = await startCluster(3);
});
afterAll(() => Promise.all(members.map((member) => member.stop())));

const urls = () => members.map((member) => member.endpoint);
const put = (etcd: Etcd, key: string) => etcd.txn({ success: [{ put: key, value: 'v' }] }, { idempotent: true });

test('a hung member costs no lease and no event, and the watch a few seconds at most', async () => {
  const [hung, ...others] = members;
  if (!hung) throw new Error('no cluster');
  // Everything is attached to the member that will hang, as after a random first choice.
  const sorted = urls().sort();
  const rng = () => (sorted.indexOf(hung.endpoint) + 0.5) / 3;
  const etcd = await open(urls(), {}, rng);
  const writer = await open(others.map((member) => member.endpoint));
  const lost: string[] = [];
  const lease = await etcd.holdLease(6, { lost: (reason) => lost.push(reason) });
  await etcd.txn({ success: [{ put: 'leased', value: 'v', lease: lease.id }] });
  const { revision } = (await etcd.list({ key: 'x' })).header;
  const seen = record(etcd, [{ key: 'watched' }], revision);
  await vi.waitUntil(() => seen.states.includes('live'));
  hung.suspend();
  const since = performance.now();
  for (let i = 0; i < 5; i++) await put(writer, 'watched');
  await vi.waitUntil(() => seen.events.length === 5, { timeout: 10_000 });
  const gapMs = performance.now() - since;
  expect(gapMs).toBeLessThan(8000);
  const listing = await etcd.list({ key: 'leased' });
  expect(listing.kvs).toHaveLength(1);
  await vi.waitUntil(() => performance.now() - since > 15_000, { timeout: 20_000, interval: 100 });
  expect((await writer.list({ key: 'leased' })).kvs).toHaveLength(1);
  expect(lost).toEqual([]);
  hung.resume();
  await lease.revoke();
});

test('when the leader is killed the watch, the lease and new calls go on with the others', async () => {
  const etcd = await open(urls());
  const lost: string[] = [];
  const lease = await etcd.holdLease(10, { lost: (reason) => lost.push(reason) });
  const seen = record(etcd, [{ key: 'after' }], (await etcd.list({ key: 'x' })).header.revision);
  await vi.waitUntil(() => seen.states.includes('live'));
  const leader = (await etcd.status()).find((member) => member.isLeader);
  const killed = members.find((member) => member.endpoint === leader?.endpoint);
  if (!killed) throw new Error('no leader');
  await killed.kill();
  const since = performance.now();
  await put(etcd, 'after');
  await vi.waitUntil(() => seen.events.length > 0 && seen.states.at(-1) === 'live', { timeout: 10_000 });
  expect(performance.now() - since).toBeLessThan(5000);
  expect((await etcd.leaseInfo(lease.id)).remainingSeconds).toBeGreaterThan(0);
  expect(lost).toEqual([]);
  await lease.revoke();
  await killed.restart();
});

test('without a majority a write fails as such, and nothing hangs', async () => {
  const etcd = await open(urls());
  await put(etcd, 'k');
  const [, second, third] = members;
  await Promise.all([second?.kill(), third?.kill()]);
  const since = performance.now();
  await expect(etcd.list({ key: 'k' })).rejects.toMatchObject({ code: /ETCD_(NO_QUORUM|TIMEOUT|UNREACHABLE)/ });
  expect(performance.now() - since).toBeLessThan(6000);
  await Promise.all([second?.restart(), third?.restart()]);
  await vi.waitFor(() => put(etcd, 'k'), { timeout: 10_000 });
});

test('an idle watch stays live: etcd answers its progress requests', async () => {
  const server = await startEtcd();
  const etcd = await open(server.endpoint);
  await put(etcd, 'k');
  const seen = record(etcd, [{ key: 'k' }, { key: 'j' }], (await etcd.list({ key: 'k' })).header.revision);
  await vi.waitUntil(() => seen.states.length > 0);
  const since = performance.now();
  await vi.waitUntil(() => performance.now() - since > 14_000, { timeout: 20_000, interval: 100 });
  expect(seen.states).toEqual(['live']);
  await server.stop();
});
