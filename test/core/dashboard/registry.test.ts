import { afterEach, describe, expect, test } from 'vitest';
import { Registry } from '../../../src/core/dashboard/registry.js';
import { ringShares } from '../../../src/core/dashboard/ring-share.js';
import type { CallOptions, KeyRange, Listing } from '../../../src/core/etcd/port.js';
import { sleep } from '../../../src/core/model/clock.js';
import { LbctlError } from '../../../src/core/model/errors.js';
import { appendLog } from '../../../src/core/operations/log.js';
import { pauseInstances } from '../../../src/core/operations/pause.js';
import { resumeInstances } from '../../../src/core/operations/resume.js';
import { open } from '../../support/etcd-client.js';
import { startEtcd } from '../../support/etcd-process.js';
import { ManualClock } from '../../support/manual-clock.js';
import { MemoryEtcd, MemoryStore } from '../../support/memory-etcd.js';
import { until } from '../../support/until.js';

const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) await end();
});

async function follow(prepare: (store: MemoryStore) => void | Promise<void> = () => {}) {
  const clock = new ManualClock();
  const store = new MemoryStore(clock);
  await prepare(store);
  const ports = { clock, rng: () => 0.5, defer: (fn: () => void) => void setImmediate(fn) };
  const opening = Registry.open(store.client(), 'shop.rpc', {}, ports);
  await clock.advance(500);
  const registry = await opening;
  endings.push(() => registry.close());
  let news = 0;
  registry.onNews(() => void news++);
  const steer = async (work: Promise<unknown>) => {
    await clock.advance(10_000);
    await work;
    await clock.advance(500);
  };
  const row = (address: string) => registry.rows().find((one) => one.address === address);
  return { clock, store, ports, registry, row, steer, news: () => news };
}
const texts = (registry: Registry, id: string) => registry.history(id).map(({ text }) => text);

describe('rows', () => {
  test('stay themselves when an instance is paused, even without its key, and comes back', async () => {
    const { store, ports, registry, row, steer, news } = await follow((empty) => {
      empty.put('shop.rpc/1', '10.0.0.1:80');
      empty.put('shop.rpc/2', '10.0.0.2:80');
    });
    const before = row('10.0.0.2:80');
    expect(before).toMatchObject({ state: 'up', name: '2', weight: 1, pause: null, lease: null });
    const request = { service: 'shop.rpc', selectors: ['10.0.0.2:80'], by: 'ann@box', reason: 'deploy' };
    await steer(pauseInstances(store.client(), { ...request, strategy: 'delete', verifyMs: 0 }, ports));
    expect(store.get('shop.rpc/2')).toBeUndefined();
    expect(row('10.0.0.2:80')).toMatchObject({
      id: before?.id,
      state: 'paused',
      pause: { by: 'ann@box', reason: 'deploy' },
    });
    expect(news()).toBeGreaterThan(0);
    await steer(resumeInstances(store.client(), request, ports));
    expect(row('10.0.0.2:80')).toEqual(before);
    expect(texts(registry, before?.id ?? '')).toEqual([expect.stringContaining('ann@box'), 'resumed']);
  });

  test('of what left stay for a minute as gone', async () => {
    const { clock, store, row } = await follow((empty) => empty.put('shop.rpc/1', '10.0.0.1:80'));
    store.delete('shop.rpc/1');
    await clock.advance(1000);
    expect(row('10.0.0.1:80')?.state).toBe('gone');
    await clock.advance(61_000);
    expect(row('10.0.0.1:80')).toBeUndefined();
  });

  test('follow a key that comes to name another address', async () => {
    const { clock, store, row } = await follow((empty) => empty.put('shop.rpc/1', '10.0.0.1:80'));
    store.put('shop.rpc/1', '10.0.0.9:80');
    await clock.advance(1000);
    expect([row('10.0.0.1:80')?.state, row('10.0.0.9:80')?.state]).toEqual(['gone', 'up']);
  });

  test('are one an address, whose duplicates are named; what cannot be read has a row of its own', async () => {
    const { registry, store, clock } = await follow((empty) => {
      empty.put('shop.rpc/1', '10.0.0.1:80');
      empty.put('shop.rpc/2', '10.0.0.1:80');
      empty.put('shop.rpc/3', 'what?');
    });
    expect(registry.rows().map(({ id, address, name }) => [id, address, name])).toEqual([
      ['shop.rpc/3', '', '3'],
      ['10.0.0.1:80', '10.0.0.1:80', '1 +1'],
    ]);
    expect(registry.duplicates()).toEqual(['10.0.0.1:80']);
    store.delete('shop.rpc/1');
    await clock.advance(1000);
    expect(registry.duplicates()).toEqual([]);
    expect(registry.rows().at(-1)).toMatchObject({ state: 'up', name: '2' });
  });

  test('stay while etcd is away, which is told by its age', async () => {
    const { clock, store, registry } = await follow((empty) => empty.put('shop.rpc/1', '10.0.0.1:80'));
    expect(registry.staleForMs).toBeNull();
    store.set('down');
    await clock.advance(3000);
    expect(registry.staleForMs).toBeGreaterThan(2000);
    expect(registry.rows()).toMatchObject([{ address: '10.0.0.1:80', state: 'up' }]);
    store.set('none');
    await clock.advance(3000);
    expect(registry.staleForMs).toBeNull();
  });
});

test('an etcd that hangs has been stale since it was last heard, not since that was noticed', async () => {
  const server = await startEtcd();
  endings.push(() => server.stop());
  const registry = await Registry.open(await open(server.endpoint), 'shop.rpc');
  endings.push(() => registry.close());
  server.suspend();
  const hangsSince = performance.now();
  await until(() => registry.staleForMs !== null, 10_000, 'stale');
  const hangsForMs = performance.now() - hangsSince;
  expect(hangsForMs).toBeGreaterThan(1000);
  expect(registry.staleForMs).toBeGreaterThan(hangsForMs - 100);
  server.resume();
}, 20_000);

describe('history', () => {
  test('begins with the log of the service and tells what happens from then on', async () => {
    const { store, clock, registry } = await follow(async (empty) => {
      empty.put('shop.rpc/1', '10.0.0.1:80');
      const entry = { by: 'ann@box', verb: 'pause', strategy: 'mask', addresses: ['10.0.0.1:80'], reason: 'deploy' };
      await appendLog(empty.client(), 'shop.rpc', { ...entry, at: '2026-11-01T10:00:00Z', what: 'paused' });
      await appendLog(empty.client(), 'shop.rpc', {
        ...entry,
        at: '2026-11-01T10:05:00Z',
        what: 'resumed',
        verb: 'resume',
      });
      await appendLog(empty.client(), 'shop.rpc', {
        ...entry,
        at: '2026-11-01T11:00:00Z',
        what: 'paused',
        addresses: ['b'],
      });
    });
    store.delete('shop.rpc/1');
    await clock.advance(500);
    expect(registry.history('10.0.0.1:80').map(({ at, text }) => [at?.slice(0, 16), text])).toEqual([
      ['2026-11-01T10:00', 'paused by ann@box: deploy'],
      ['2026-11-01T10:05', 'resumed by ann@box: deploy'],
      [new Date(clock.now()).toISOString().slice(0, 16), expect.stringMatching(/./)],
    ]);
  });

  test('is no reason to wait for long', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore(clock);
    store.put('shop.rpc/1', '10.0.0.1:80');
    /** An etcd that answers everything but the log. */
    class WithoutLog extends MemoryEtcd {
      override async list(range: KeyRange, options: CallOptions = {}): Promise<Listing> {
        if (!range.key.includes('/log/')) return super.list(range, options);
        await sleep(clock, options.timeoutMs ?? 60_000, options.signal);
        throw new LbctlError('ETCD_TIMEOUT', 'no answer');
      }
    }
    let registry: Registry | null = null;
    const ports = { clock, rng: () => 0.5, defer: (fn: () => void) => void setImmediate(fn) };
    void Registry.open(new WithoutLog(store), 'shop.rpc', {}, ports).then((opened) => (registry = opened));
    await clock.advance(500);
    expect(registry).toBeNull();
    await clock.advance(1000);
    const opened = registry as Registry | null;
    endings.push(async () => opened?.close());
    expect(opened?.rows()).toMatchObject([{ address: '10.0.0.1:80', state: 'up' }]);
  });

  test('of an instance that flaps is bounded', async () => {
    const { store, clock, registry } = await follow();
    for (let count = 0; count < 60; count++) {
      store.put('shop.rpc/1', '10.0.0.1:80');
      await clock.advance(200);
      store.delete('shop.rpc/1');
      await clock.advance(200);
    }
    expect(registry.history('10.0.0.1:80')).toHaveLength(50);
  });
});

describe('leases', () => {
  test('of hundreds of instances have each its turn, also while etcd answers slowly', async () => {
    const { clock, store, registry } = await follow((empty) => {
      for (let id = 1; id <= 400; id++) {
        const lease = empty.newLeaseId();
        empty.grant(lease, 600);
        empty.put(`shop.rpc/${id}`, `10.0.${id >> 8}.${id & 255}:80`, lease);
      }
    });
    await clock.advance(10_500);
    expect(registry.rows().filter(({ lease }) => lease === null)).toEqual([]);
    const asked = () => store.calls.filter((call) => call === 'lease').length;
    const before = asked();
    store.fault = 'hung';
    await clock.advance(2000);
    // Ten at a time, each a second long: one that is under way is not asked for again.
    expect(asked() - before).toBeLessThanOrEqual(30);
  });

  test('are asked for politely and counted down in between', async () => {
    const { clock, store, row } = await follow((empty) => {
      for (let id = 1; id <= 100; id++) {
        const lease = empty.newLeaseId();
        empty.grant(lease, 60);
        empty.put(`shop.rpc/${id}`, `10.0.0.${id}:80`, lease);
      }
    });
    const asked = () => store.calls.filter((call) => call === 'lease').length;
    // Half a second has passed.
    expect(asked()).toBeGreaterThan(0);
    expect(asked()).toBeLessThanOrEqual(30);
    await clock.advance(1000);
    expect(asked()).toBeLessThanOrEqual(70);
    await clock.advance(4000);
    expect(row('10.0.0.77:80')?.lease).toEqual({ ttlSeconds: 60, remainingSeconds: expect.any(Number) });
    const first = row('10.0.0.1:80')?.lease?.remainingSeconds ?? 0;
    expect(first).toBeGreaterThan(50);
    store.set('down');
    await clock.advance(10_000);
    expect(row('10.0.0.1:80')?.lease?.remainingSeconds).toBeLessThan(first - 5);
    const downAsked = asked();
    await clock.advance(5000);
    expect(asked()).toBe(downAsked);
  });
});

test('the shares of the ring add up to one and are near the arcs', () => {
  const shares = ringShares(['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80']);
  expect([...shares.values()].reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 9);
  for (const share of shares.values()) expect(Math.abs(share - 1 / 3)).toBeLessThan(0.12);
  expect([...ringShares(['a:1'])]).toEqual([['a:1', 1]]);
});
