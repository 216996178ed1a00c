import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { LeaseHandlers } from '../../../src/core/etcd/port.js';
import { open } from '../../support/etcd-client.js';
import { type EtcdProcess, etcdctl, startEtcd } from '../../support/etcd-process.js';
import { startProxy } from '../../support/tcp-proxy.js';

let server: EtcdProcess;
beforeAll(async () => {
  server = await startEtcd();
});
afterAll(() => server.stop());

function recorded(): LeaseHandlers & { readonly told: string[]; readonly reasons: string[] } {
  const told: string[] = [];
  const reasons: string[] = [];
  return {
    told,
    reasons,
    lost(reason) {
      told.push('lost');
      reasons.push(reason);
    },
    trouble: () => told.push('trouble'),
    recovered: () => told.push('recovered'),
  };
}

test('a held lease outlives its TTL by far, and ends with its keys when it is revoked', async () => {
  const etcd = await open(server.endpoint);
  const handlers = recorded();
  const lease = await etcd.holdLease(2, handlers);
  await etcd.txn({ success: [{ put: 'held/k', value: 'v', lease: lease.id }] });
  const since = performance.now();
  await vi.waitUntil(() => performance.now() - since > 5000, { timeout: 6000, interval: 100 });
  expect((await etcd.list({ key: 'held/k' })).kvs).toHaveLength(1);
  await lease.revoke();
  expect((await etcd.list({ key: 'held/k' })).kvs).toEqual([]);
  await lease.revoke();
  expect(handlers.told).toEqual([]);
});

test('an outage shorter than the TTL is trouble, then recovery; the lease stays', async () => {
  const proxy = await startProxy(server.port);
  const etcd = await open(proxy.address);
  const handlers = recorded();
  const lease = await etcd.holdLease(3, handlers);
  proxy.cut({ refuse: true });
  await vi.waitUntil(() => handlers.told.includes('trouble'), { timeout: 3000 });
  proxy.heal();
  await vi.waitUntil(() => handlers.told.includes('recovered'), { timeout: 3000 });
  expect((await etcd.leaseInfo(lease.id)).remainingSeconds).toBeGreaterThanOrEqual(2);
  expect(handlers.told).toEqual(['trouble', 'recovered']);
  lease.abandon();
});

test('a longer outage is a loss, told once, after the TTL since the last good beat and not long after', async () => {
  const proxy = await startProxy(server.port);
  const etcd = await open(proxy.address);
  const handlers = recorded();
  const since = performance.now();
  const lease = await etcd.holdLease(2, handlers);
  proxy.loseAnswers();
  await vi.waitUntil(() => handlers.told.includes('lost'), { timeout: 5000 });
  const lostMs = performance.now() - since;
  expect(lostMs).toBeGreaterThanOrEqual(1950);
  expect(lostMs).toBeLessThan(2500);
  proxy.heal();
  await lease.revoke();
  expect(handlers.told).toEqual(['trouble', 'lost']);
});

test('a lease that somebody revokes is told as lost with the next beat', async () => {
  const etcd = await open(server.endpoint);
  const handlers = recorded();
  const lease = await etcd.holdLease(3, handlers);
  await etcdctl(server.endpoint, 'lease', 'revoke', lease.id.toString(16));
  await vi.waitUntil(() => handlers.told.length > 0, { timeout: 2500 });
  expect([handlers.told, handlers.reasons]).toEqual([['lost'], [expect.stringContaining('expired or was revoked')]]);
});

test('a revoke in an outage is repeated within its time; without time it fails', async () => {
  const own = await startEtcd();
  const etcd = await open(own.endpoint);
  const lease = await etcd.holdLease(60, recorded());
  await own.kill();
  const failing = lease.revoke({ timeoutMs: 300 });
  // Within so short a time a busy machine may not even hear that it is refused.
  await expect(failing).rejects.toMatchObject({ code: expect.stringMatching(/^ETCD_(UNREACHABLE|TIMEOUT)$/) });
  const revoking = lease.revoke({ timeoutMs: 15_000 });
  await own.restart();
  await revoking;
  expect((await etcd.leaseInfo(lease.id)).remainingSeconds).toBe(-1);
  await own.stop();
});

test('a grant that an outage held up for longer than its TTL is a loss that is told, not a crash', async () => {
  const own = await startEtcd();
  const etcd = await open(own.endpoint);
  await etcd.list({ key: 'k' });
  await own.kill();
  const handlers = recorded();
  const granting = etcd.holdLease(1, handlers, { timeoutMs: 15_000 });
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await own.restart();
  const lease = await granting;
  await vi.waitUntil(() => handlers.told.length > 0, { timeout: 2500 });
  expect(handlers.told).toEqual(['lost']);
  lease.abandon();
  await own.stop();
});
