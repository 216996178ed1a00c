import { describe, expect, it } from 'vitest';
import { decodeMeta } from '../../../src/core/discovery/overlay.js';
import { Publisher } from '../../../src/core/discovery/publisher.js';
import type { PublisherOptions } from '../../../src/core/discovery/publisher-options.js';
import { readService } from '../../../src/core/discovery/read.js';
import { ManualClock, settle } from '../../support/manual-clock.js';
import { MemoryStore } from '../../support/memory-etcd.js';

const owner = { host: 'box', pid: 42, version: '0.1.0' };
const pauseKey = 'lbctl/v1/pause/user.rpc/10.0.0.1:80';

/** Its watch of its own keys is up to date by then. */
const watchingMs = 150;

function world() {
  const clock = new ManualClock();
  const store = new MemoryStore(clock);
  const ports = { clock, rng: () => 0.5, defer: (fn: () => void) => void setImmediate(fn) };
  const publisher = (more: Partial<PublisherOptions> = {}, client = store.client()) => {
    const made = new Publisher(client, { service: 'user.rpc', address: '10.0.0.1:80', owner, ...more }, ports);
    const states: string[] = [];
    made.onState(({ state }) => states.push(state));
    return { publisher: made, states, client };
  };
  /** Instance keys of the service, with what they stand for. */
  const held = () => store.keys('user.rpc/').map((key) => store.get(key)?.value.toString());
  return { clock, store, publisher, held };
}

async function stopped(publisher: Publisher, clock: ManualClock) {
  const stopping = publisher.stop();
  await clock.advance(3000);
  return stopping;
}

describe('a publisher', () => {
  it('registers under its lease id in decimal, with its record on the same lease, and takes both along', async () => {
    const { store, publisher, clock } = world();
    const { publisher: it, states } = publisher({ weight: 5, zone: 'a' });
    await it.start();
    expect(it.key).toBe(`user.rpc/${it.leaseId}`);
    const kv = store.get(it.key);
    expect(kv?.lease).toBe(it.leaseId);
    const meta = store.get(`lbctl/v1/meta/user.rpc/${it.leaseId}`);
    expect(meta?.lease).toBe(it.leaseId);
    expect(meta?.modRevision).toBe(kv?.modRevision);
    expect(meta && decodeMeta(meta.value)).toMatchObject({ weight: 5, zone: 'a', owner, state: 'up' });
    await clock.advance(60_000);
    expect(store.get(it.key)?.modRevision).toBe(kv?.modRevision);
    expect(await stopped(it, clock)).toEqual({ released: true });
    expect(store.keys()).toEqual([]);
    expect(store.leases.size).toBe(0);
    expect(states).toEqual(['registering', 'registered', 'stopped']);
    expect(store.watchers.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('puts a deleted key back at once, same key, value and lease', async () => {
    const { store, publisher, clock, held } = world();
    const { publisher: it } = publisher();
    await it.start();
    await clock.advance(watchingMs);
    const { key, leaseId } = it;
    store.delete(key);
    await settle();
    expect(held()).toEqual(['10.0.0.1:80']);
    expect(store.get(key)?.lease).toBe(leaseId);
    expect(it.state).toBe('registered');
    await clock.advance(watchingMs);
    store.put(key, '10.0.0.1:80');
    await clock.advance(20);
    expect(store.get(key)?.lease).toBe(leaseId);
    await stopped(it, clock);
  });

  it('puts back its record when that alone was deleted', async () => {
    const { store, publisher, clock } = world();
    const { publisher: it } = publisher();
    await it.start();
    await clock.advance(watchingMs);
    const metaKey = `lbctl/v1/meta/user.rpc/${it.leaseId}`;
    store.delete(metaKey);
    await settle();
    expect(store.get(metaKey)?.lease).toBe(it.leaseId);
    expect(it.state).toBe('registered');
    await stopped(it, clock);
  });

  it('leaves a value alone that somebody changed without touching key and lease', async () => {
    const { store, publisher, clock } = world();
    const { publisher: it } = publisher();
    await it.start();
    await clock.advance(watchingMs);
    store.put(it.key, 'lbctl-paused:10.0.0.1:80', it.leaseId);
    await settle();
    expect(store.get(it.key)?.value.toString()).toBe('lbctl-paused:10.0.0.1:80');
    await stopped(it, clock);
  });

  it.each([undefined, '7'])('registers anew with exactly one key when its lease is revoked (id %s)', async (id) => {
    const { store, publisher, clock, held } = world();
    const { publisher: it, states } = publisher(id === undefined ? {} : { id });
    await it.start();
    await clock.advance(watchingMs);
    const before = it.leaseId;
    store.revoke(before);
    await settle();
    expect(held()).toEqual([]);
    await clock.advance(200);
    expect(held()).toEqual(['10.0.0.1:80']);
    expect(it.leaseId).not.toBe(before);
    expect(store.leases.size).toBe(1);
    expect(states.slice(1)).toEqual(['registered', 'recovering', 'registered']);
    await stopped(it, clock);
    expect(store.keys()).toEqual([]);
  });

  it.each([undefined, '7'])('survives an outage longer than its TTL with exactly one key (id %s)', async (id) => {
    const { store, publisher, clock, held } = world();
    const { publisher: it } = publisher(id === undefined ? {} : { id });
    await it.start();
    const before = it.leaseId;
    store.set('down');
    await clock.advance(20_000);
    expect(it.state).toBe('recovering');
    store.set('none');
    // etcd re-arms the old lease after a restart: the old key is still there when the new one comes.
    expect(store.leases.has(before)).toBe(true);
    await clock.advance(1100);
    expect(held()).toEqual(['10.0.0.1:80']);
    if (id === undefined) {
      // The old key went in the very revision in which the new one came.
      const coming = store.history.find((entry) => entry.events.some((event) => event.kv.key === it.key));
      expect(coming?.events.map((event) => event.type).sort()).toEqual(['delete', 'delete', 'put', 'put']);
    }
    await clock.advance(30_000);
    expect(held()).toEqual(['10.0.0.1:80']);
    expect(store.leases.size).toBe(1);
    await stopped(it, clock);
  });

  it('registers again in an etcd that came back empty', async () => {
    const { store, publisher, clock, held } = world();
    const { publisher: it } = publisher();
    await it.start();
    await settle();
    store.set('down');
    await clock.advance(3000);
    store.wipe();
    await clock.advance(1000);
    expect(held()).toEqual(['10.0.0.1:80']);
    expect(store.leases.size).toBe(1);
    await stopped(it, clock);
  });

  it('keeps one registration when the answer to its transaction is lost', async () => {
    const { store, publisher, clock, held } = world();
    store.loseAnswers = 1;
    const { publisher: it } = publisher({ id: '7' });
    await it.start();
    expect(held()).toEqual(['10.0.0.1:80']);
    expect(store.leases.size).toBe(1);
    await stopped(it, clock);
  });

  it('obeys a pause record, acknowledges it in one revision, and comes back when it goes', async () => {
    const { store, publisher, clock, held } = world();
    const { publisher: it, states } = publisher({ weight: 5 });
    await it.start();
    await settle();
    store.put(pauseKey, '{"by":"ann","reason":"deploy"}');
    const recordRevision = store.revision;
    await settle();
    expect(it.state).toBe('paused');
    expect(held()).toEqual([]);
    const metas = store.keys('lbctl/v1/meta/').map((key) => store.get(key));
    expect(metas).toHaveLength(1);
    expect(metas[0] && decodeMeta(metas[0].value)).toMatchObject({ state: 'paused', pauseRevision: recordRevision });
    expect(store.leases.size).toBe(1);
    store.put(pauseKey, '{"by":"bob"}');
    await settle();
    expect((await readService(store.client(), 'user.rpc')).instances).toMatchObject([
      { admin: 'paused', weight: 5, pause: { by: 'bob' }, owner, notes: [] },
    ]);
    store.delete(pauseKey);
    await settle();
    expect(held()).toEqual(['10.0.0.1:80']);
    expect(store.keys('lbctl/v1/meta/')).toHaveLength(1);
    expect(store.leases.size).toBe(1);
    expect(states.slice(1)).toEqual(['registered', 'paused', 'registered']);
    await stopped(it, clock);
  });

  it('starts paused when a record is there, and stays so through the death of its lease', async () => {
    const { store, publisher, clock, held } = world();
    store.put(pauseKey, '{"by":"ann"}');
    const { publisher: it } = publisher({ id: '7' });
    await it.start();
    expect(it.state).toBe('paused');
    await settle();
    store.revoke(it.leaseId);
    await clock.advance(1000);
    expect(it.state).toBe('paused');
    expect(held()).toEqual([]);
    store.delete(pauseKey);
    await settle();
    expect(held()).toEqual(['10.0.0.1:80']);
    await stopped(it, clock);
  });

  it('says why it left its state, not which of the attempts in between failed', async () => {
    const { store, publisher, clock } = world();
    const { publisher: it } = publisher();
    await it.start();
    const told: string[] = [];
    it.onState(({ state, reason }) => told.push(`${state}: ${reason}`));
    store.set('down');
    await clock.advance(20_000);
    store.set('none');
    await clock.advance(3000);
    store.set('down');
    await clock.advance(20_000);
    await stopped(it, clock);
    const lost = 'recovering: no beat got through for one TTL';
    expect(told).toEqual([lost, 'registered: ', lost, 'stopped: stopped']);
  });

  it('takes itself out and in again for its own reasons, each as often as asked', async () => {
    const { store, publisher, clock, held } = world();
    const { publisher: it } = publisher();
    await it.start();
    await Promise.all([it.pause('3 checks failed'), it.pause('3 checks failed')]);
    expect(held()).toEqual([]);
    const [instance] = (await readService(store.client(), 'user.rpc')).instances;
    expect(instance).toMatchObject({ admin: 'paused', pause: { reason: '3 checks failed', strategy: 'withdrawn' } });
    await Promise.all([it.resume(), it.resume()]);
    expect(held()).toEqual(['10.0.0.1:80']);
    const wishes = [it.pause(), it.resume(), it.pause()];
    await Promise.all(wishes);
    expect(it.state).toBe('paused');
    await stopped(it, clock);
    expect(store.keys()).toEqual([]);
  });

  it('fails its first attempt with the error itself, and leaves nothing running', async () => {
    const { store, publisher, clock } = world();
    store.set('down');
    const { publisher: it } = publisher();
    await expect(it.start()).rejects.toMatchObject({ code: 'ETCD_UNREACHABLE' });
    expect(clock.pending).toBe(0);
  });

  it('refuses an id that belongs to somebody else, and takes over its own former life', async () => {
    const { store, publisher, clock, held } = world();
    store.grant(9n, 10);
    store.put('user.rpc/7', '10.9.9.9:80', 9n);
    const { publisher: refused } = publisher({ id: '7' });
    const failing = refused.start().catch((error: unknown) => error);
    await clock.advance(100);
    expect(await failing).toMatchObject({ code: 'WRITE_CONFLICT' });
    expect(held()).toEqual(['10.9.9.9:80']);
    expect(refused.state).toBe('stopped');

    store.put('user.rpc/8', '10.0.0.1:80', 9n);
    const { publisher: it } = publisher({ id: '8' });
    await it.start();
    expect(store.get('user.rpc/8')?.lease).toBe(it.leaseId);
    await stopped(it, clock);
  });

  it('evicts others from its address when exclusive, and they give way', async () => {
    const { store, publisher, clock, held } = world();
    const { publisher: older } = publisher();
    await older.start();
    store.put('user.rpc/by-hand', '10.0.0.1:80');
    await settle();
    const { publisher: newer } = publisher({ exclusive: true });
    await newer.start();
    await clock.advance(1000);
    expect(held()).toEqual(['10.0.0.1:80']);
    expect(store.keys('user.rpc/')).toEqual([newer.key]);
    expect(older.state).toBe('stopped');
    expect(older.error).toMatchObject({ code: 'WRITE_CONFLICT' });
    await stopped(newer, clock);
    expect(store.keys()).toEqual([]);
    expect(store.leases.size).toBe(0);
  });

  it('registers without lbctl records when it may not write them, and says so', async () => {
    const { store, publisher, clock, held } = world();
    store.denied = ['lbctl/'];
    const { publisher: it } = publisher();
    const warnings: string[] = [];
    it.onWarning((warning) => warnings.push(warning));
    await it.start();
    expect(held()).toEqual(['10.0.0.1:80']);
    expect(warnings).toHaveLength(2);
    await stopped(it, clock);
  });

  it('stops within its bound when etcd does not answer, and says that it could not release', async () => {
    const { store, publisher, clock } = world();
    const { publisher: it } = publisher();
    await it.start();
    store.set('hung');
    const stopping = it.stop({ timeoutMs: 3000 });
    await clock.advance(3000);
    expect(await stopping).toEqual({ released: false });
    await clock.advance(3000);
    store.set('none');
    await clock.advance(20_000);
    expect(store.keys()).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('revokes after all when etcd comes back while it is stopping', async () => {
    const { store, publisher, clock } = world();
    const { publisher: it } = publisher();
    await it.start();
    store.set('down');
    const stopping = it.stop({ timeoutMs: 5000 });
    await clock.advance(2000);
    store.set('none');
    await clock.advance(500);
    expect(await stopping).toEqual({ released: true });
    expect(store.keys()).toEqual([]);
  });

  it.each([
    { address: '10.0.0.1' },
    { address: '10.0.0.1:0' },
    { address: '10.0.0.1:70000' },
    { weight: -1 },
    { weight: 1e9 },
    { weight: Number.NaN },
    { ttlSeconds: 0 },
    { ttlSeconds: 1.5 },
    { service: 'a b' },
    { service: '' },
    { service: 'a/../b' },
    { id: 'a/b' },
    { service: 'lbctl' },
    { service: 'lbctl/v1/pause/user.rpc', id: '10.0.0.1:80' },
  ])('cannot be made with %j', (more) => {
    const { publisher } = world();
    expect(() => publisher(more)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });
});
