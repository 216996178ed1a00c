import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinCluster } from '../../../src/core/discovery/cluster.js';
import { observeService, type ServiceEvent } from '../../../src/core/discovery/observe.js';
import { readService } from '../../../src/core/discovery/read.js';
import { Subscriber } from '../../../src/core/discovery/subscriber.js';
import { ManualClock, settle } from '../../support/manual-clock.js';
import { MemoryStore } from '../../support/memory-etcd.js';

function world(seed = 0.5) {
  const clock = new ManualClock();
  const store = new MemoryStore(clock);
  const ports = { clock, rng: () => seed, defer: (fn: () => void) => void setImmediate(fn) };
  return { clock, store, ports };
}

/** Every range of a stream that was just opened is up to date by then. */
const caughtUpMs = 150;
/** What came alone is told by then. */
const toldMs = 20;

async function opened(w: ReturnType<typeof world>) {
  const events: ServiceEvent[] = [];
  const membership = await observeService(w.store.client(), 'user.rpc', (event) => events.push(event), {}, w.ports);
  return { events, membership };
}

async function observed(w: ReturnType<typeof world>) {
  const { events, membership } = await opened(w);
  await w.clock.advance(caughtUpMs);
  const lines = () => events.map((event) => `${event.type} ${event.address} ${event.cause}`.replace(/ +/g, ' ').trim());
  return { events, membership, lines };
}

/** A client of the store whose watches hear of each range so many milliseconds late. */
function lateClient(w: ReturnType<typeof world>, lateMs: (rangeIndex: number) => number) {
  const client = w.store.client();
  const watch = client.watch.bind(client);
  client.watch = (request, handlers) =>
    watch(request, {
      ...handlers,
      events: (events, revision, index) => {
        const deliver = () => handlers.events(events, revision, index);
        if (lateMs(index) === 0) deliver();
        else w.clock.timer(lateMs(index), deliver);
      },
    });
  return client;
}

const meta = (key: string, weight: number, state = 'up') =>
  JSON.stringify({
    address: '10.0.0.1:80',
    dialect: 'gozero',
    key,
    weight,
    state,
    owner: { host: 'h', pid: 1, version: '1' },
    since: '2026-03-01T12:00:00.000Z',
  });

describe('a watched service', () => {
  it('is told as a snapshot, then event by event with causes', async () => {
    const w = world();
    w.store.grant(7n, 10);
    w.store.put('user.rpc/7', '10.0.0.1:80', 7n);
    const { lines, events, membership } = await observed(w);
    w.store.put('user.rpc/8', '10.0.0.2:80');
    await w.clock.advance(toldMs);
    w.store.put('user.rpc/8', '10.0.0.3:80');
    await w.clock.advance(toldMs);
    w.store.delete('user.rpc/7');
    w.store.put('user.rpc/7', '10.0.0.1:80', 7n);
    await w.clock.advance(toldMs);
    w.store.revoke(7n);
    await w.clock.advance(toldMs);
    expect(lines()).toEqual([
      'SNAPSHOT 10.0.0.1:80 present',
      'SYNCED 1 instances',
      'ADDED 10.0.0.2:80 registered',
      'CHANGED 10.0.0.3:80 value changed 10.0.0.2:80 -> 10.0.0.3:80',
      'REMOVED 10.0.0.1:80 deleted',
      'ADDED 10.0.0.1:80 re-registered, same lease',
      'REMOVED 10.0.0.1:80 expired or revoked',
    ]);
    const revisions = events.map((event) => event.revision);
    expect(revisions).toEqual([...revisions].sort((a, b) => Number(a - b)));
    await membership.close();
    expect(w.store.watchers.size).toBe(0);
    expect(w.clock.pending).toBe(0);
  });

  it('knows the weight of an instance when it tells of it, though key and record come in two messages', async () => {
    const w = world();
    const { events, lines, membership } = await observed(w);
    w.store.write([
      { put: 'user.rpc/1', value: '10.0.0.1:80' },
      { put: 'lbctl/v1/meta/user.rpc/1', value: meta('user.rpc/1', 5) },
    ]);
    await w.clock.advance(toldMs);
    expect(events.at(-1)).toMatchObject({
      type: 'ADDED',
      instance: { weight: 5, owner: { pid: 1 }, since: '2026-03-01T12:00:00.000Z' },
    });
    w.store.put('lbctl/v1/meta/user.rpc/1', meta('user.rpc/1', 1));
    await w.clock.advance(toldMs);
    expect(lines().at(-1)).toBe('CHANGED 10.0.0.1:80 weight 5 -> 1');
    await membership.close();
  });

  it('tells a pause of a managed instance as a pause, and its return as a resume', async () => {
    const w = world();
    w.store.put('user.rpc/1', '10.0.0.1:80');
    w.store.put('lbctl/v1/meta/user.rpc/1', meta('user.rpc/1', 5));
    const { lines, membership } = await observed(w);
    const record = { by: 'ann', at: '2026-01-01T00:00:00Z', reason: 'deploy', strategy: 'managed', until: null };
    w.store.put('lbctl/v1/pause/user.rpc/10.0.0.1:80', JSON.stringify(record));
    await w.clock.advance(toldMs);
    w.store.write([
      { delete: { key: 'user.rpc/1' } },
      { delete: { key: 'lbctl/v1/meta/user.rpc/1' } },
      { put: 'lbctl/v1/meta/user.rpc/2', value: meta('user.rpc/2', 5, 'paused') },
    ]);
    await w.clock.advance(toldMs);
    const view = await readService(w.store.client(), 'user.rpc');
    expect(view.instances).toMatchObject([
      { address: '10.0.0.1:80', admin: 'paused', weight: 5, pause: { by: 'ann', reason: 'deploy' }, notes: [] },
    ]);
    w.store.delete('lbctl/v1/pause/user.rpc/10.0.0.1:80');
    await w.clock.advance(toldMs);
    w.store.write([
      { delete: { key: 'lbctl/v1/meta/user.rpc/2' } },
      { put: 'user.rpc/3', value: '10.0.0.1:80' },
      { put: 'lbctl/v1/meta/user.rpc/3', value: meta('user.rpc/3', 5) },
    ]);
    await w.clock.advance(toldMs);
    expect(lines().slice(2)).toEqual(['PAUSED 10.0.0.1:80 paused by ann: deploy', 'RESUMED 10.0.0.1:80 resumed']);
    await membership.close();
  });

  it('tells that the owner of a paused instance went, and that one is back', async () => {
    const w = world();
    w.store.put(
      'lbctl/v1/pause/user.rpc/10.0.0.1:80',
      '{"by":"ann","strategy":"managed","restore":{"key":"user.rpc/1"}}',
    );
    w.store.put('lbctl/v1/meta/user.rpc/2', meta('user.rpc/2', 5, 'paused'));
    const subscriber = new Subscriber(w.store.client(), 'user.rpc', {}, w.ports);
    await subscriber.start();
    const { lines, membership } = await observed(w);
    w.store.delete('lbctl/v1/meta/user.rpc/2');
    await w.clock.advance(toldMs);
    w.store.put('lbctl/v1/meta/user.rpc/3', meta('user.rpc/3', 5, 'paused'));
    await w.clock.advance(toldMs);
    expect(lines().slice(2)).toEqual([
      'CHANGED 10.0.0.1:80 its owner is gone, the pause stands',
      'CHANGED 10.0.0.1:80 its owner is back, still paused',
    ]);
    expect(subscriber.addresses()).toEqual([]);
    await subscriber.close();
    await membership.close();
  });

  it('says replaced, not deleted, when an instance moves to a new key in one revision', async () => {
    const w = world();
    w.store.put('user.rpc/1', '10.0.0.1:80');
    const { lines, membership } = await observed(w);
    w.store.write([{ delete: { key: 'user.rpc/1' } }, { put: 'user.rpc/2', value: '10.0.0.1:80' }]);
    await w.clock.advance(toldMs);
    expect(lines().slice(2)).toEqual([
      'REMOVED 10.0.0.1:80 replaced by a new registration',
      'ADDED 10.0.0.1:80 re-registered, same lease',
    ]);
    await membership.close();
  });

  it('keeps the last set through an outage, then tells the difference', async () => {
    const w = world();
    w.store.put('user.rpc/1', '10.0.0.1:80');
    const subscriber = new Subscriber(w.store.client(), 'user.rpc', {}, w.ports);
    await subscriber.start();
    const { lines, membership } = await observed(w);
    w.store.set('down');
    await w.clock.advance(12_000);
    expect(subscriber.addresses()).toEqual(['10.0.0.1:80']);
    expect(subscriber.staleForMs).toBe(12_000);
    w.store.put('user.rpc/1', '10.0.0.9:80');
    w.store.put('user.rpc/2', '10.0.0.2:80');
    w.store.compact();
    w.store.set('none');
    await w.clock.advance(3000);
    expect(subscriber.addresses()).toEqual(['10.0.0.2:80', '10.0.0.9:80']);
    expect(subscriber.staleForMs).toBeNull();
    expect(lines().slice(2)).toEqual([
      'STALE connection lost',
      'LIVE etcd answers again',
      'RESYNC compacted',
      'CHANGED 10.0.0.9:80 value changed 10.0.0.1:80 -> 10.0.0.9:80',
      'ADDED 10.0.0.2:80 registered',
    ]);
    await subscriber.close();
    await membership.close();
  });

  it.each(['while etcd was away', 'when the watch was just opened'])(
    'tells once and in order what was registered %s, though the ranges come one after the other',
    async (when) => {
      const w = world();
      const client = lateClient(w, (index) => (index === 0 ? 0 : 100));
      const events: ServiceEvent[] = [];
      const membership = await observeService(client, 'user.rpc', (event) => events.push(event), {}, w.ports);
      if (when === 'while etcd was away') {
        await w.clock.advance(caughtUpMs);
        w.store.set('down');
        await w.clock.advance(toldMs);
      }
      for (const id of ['1', '2']) {
        const key = `user.rpc/${id}`;
        w.store.write([
          { put: key, value: `10.0.0.1:${id}` },
          { put: `lbctl/v1/meta/${key}`, value: meta(key, 5) },
        ]);
      }
      w.store.set('none');
      await w.clock.advance(500);
      const told = events.filter(({ instance }) => instance).map(({ type, revision }) => `${type} ${revision}`);
      expect(told).toEqual(['ADDED 2', 'ADDED 3']);
      expect(events.at(-1)).toMatchObject({ instance: { weight: 5 } });
      await membership.close();
      expect(w.clock.pending).toBe(0);
    },
  );

  it.each([
    ['first', 0],
    ['last', 0.5],
  ])('takes what comes apart for the one write that it was, the key %s', async (_, keyLateMs) => {
    const w = world();
    const client = lateClient(w, (index) => (index === 0 ? keyLateMs : 0.5 - keyLateMs));
    const events: ServiceEvent[] = [];
    const membership = await observeService(client, 'user.rpc', (event) => events.push(event), {}, w.ports);
    await w.clock.advance(caughtUpMs);
    const key = 'user.rpc/1';
    w.store.write([
      { put: key, value: '10.0.0.1:80' },
      { put: `lbctl/v1/meta/${key}`, value: meta(key, 5) },
    ]);
    await w.clock.advance(toldMs);
    w.store.write([
      { put: key, value: '10.0.0.2:80' },
      { put: `lbctl/v1/meta/${key}`, value: meta(key, 1).replace('10.0.0.1', '10.0.0.2') },
    ]);
    await w.clock.advance(toldMs);
    expect(events.slice(1).map(({ type, instance }) => [type, instance?.address, instance?.weight])).toEqual([
      ['ADDED', '10.0.0.1:80', 5],
      ['CHANGED', '10.0.0.2:80', 1],
    ]);
    await membership.close();
    expect(w.clock.pending).toBe(0);
  });

  it.each([
    ['15 ms apart is one write in the minute after an outage', 1000, ['ADDED 5']],
    ['15 ms apart is told as it comes, later than that', 61_000, ['ADDED 1', 'CHANGED 5']],
  ])('what comes %s', async (_, sinceMs, expected) => {
    const w = world();
    const client = lateClient(w, (index) => (index === 0 ? 0 : 15));
    const events: ServiceEvent[] = [];
    const membership = await observeService(client, 'user.rpc', (event) => events.push(event), {}, w.ports);
    await w.clock.advance(caughtUpMs);
    w.store.set('down');
    await w.clock.advance(toldMs);
    w.store.set('none');
    await w.clock.advance(sinceMs);
    const key = 'user.rpc/1';
    w.store.write([
      { put: key, value: '10.0.0.1:80' },
      { put: `lbctl/v1/meta/${key}`, value: meta(key, 5) },
    ]);
    await w.clock.advance(2 * toldMs);
    const told = events.flatMap(({ type, instance }) => (instance ? [`${type} ${instance.weight}`] : []));
    expect(told).toEqual(expected);
    await membership.close();
    expect(w.clock.pending).toBe(0);
  });

  it('says at once that something is coming, to those who can look for themselves', async () => {
    const w = world();
    const told: string[] = [];
    const listener = {
      current: () => {},
      arriving: () => told.push('arriving'),
      changed: () => told.push('changed'),
    };
    const membership = await joinCluster(w.store.client(), 'user.rpc', listener, {}, w.ports);
    w.store.put('user.rpc/1', '10.0.0.1:80');
    await w.clock.advance(toldMs);
    expect(told).toEqual(['arriving']);
    await w.clock.advance(caughtUpMs);
    w.store.put('user.rpc/2', '10.0.0.2:80');
    await w.clock.advance(toldMs);
    expect(told).toEqual(['arriving', 'changed', 'arriving', 'changed']);
    await membership.close();
  });

  it('shares one watch between all who follow it, and ends it with the last', async () => {
    const w = world();
    w.store.put('user.rpc/1', '10.0.0.1:80');
    const client = w.store.client();
    const [a, b] = [new Subscriber(client, 'user.rpc', {}, w.ports), new Subscriber(client, 'user.rpc', {}, w.ports)];
    await Promise.all([a.start(), b.start()]);
    await w.clock.advance(caughtUpMs);
    const seen: (readonly string[])[] = [];
    b.onChange((addresses) => seen.push(addresses));
    expect(seen).toEqual([['10.0.0.1:80']]);
    expect(w.store.watchers.size).toBe(1);
    await a.close();
    w.store.put('user.rpc/2', '10.0.0.2:80');
    await w.clock.advance(toldMs);
    expect(seen.at(-1)).toEqual(['10.0.0.1:80', '10.0.0.2:80']);
    expect(a.addresses()).toEqual(['10.0.0.1:80']);
    await b.close();
    expect(w.store.watchers.size).toBe(0);
    expect(w.clock.pending).toBe(0);
  });

  it('fails its start when nobody answers, and may be started again', async () => {
    const w = world();
    w.store.set('down');
    const subscriber = new Subscriber(w.store.client(), 'user.rpc', {}, w.ports);
    await expect(subscriber.start()).rejects.toMatchObject({ code: 'ETCD_UNREACHABLE' });
    w.store.set('none');
    await subscriber.start();
    expect(subscriber.addresses()).toEqual([]);
    await subscriber.close();
  });

  it('finds an event that etcd never sent', async () => {
    const w = world();
    w.store.put('user.rpc/1', '10.0.0.1:80');
    const { lines, membership } = await observed(w);
    w.store.kvs.delete('user.rpc/1');
    await w.clock.advance(400_000);
    expect(lines().slice(2)).toEqual(['RESYNC missed events', 'REMOVED 10.0.0.1:80 deleted']);
    await membership.close();
  });

  it('works without the overlay when the user may not read it, and says so', async () => {
    const w = world();
    w.store.put('user.rpc/1', '10.0.0.1:80');
    w.store.denied = ['lbctl/', '/services/', '/microservices/'];
    const warnings: string[] = [];
    const options = { onWarning: (warning: string) => warnings.push(warning) };
    const events: ServiceEvent[] = [];
    const membership = await observeService(w.store.client(), 'user.rpc', (e) => events.push(e), options, w.ports);
    w.store.put('user.rpc/2', '10.0.0.2:80');
    await w.clock.advance(caughtUpMs);
    expect(events.map((event) => event.type)).toEqual(['SNAPSHOT', 'SYNCED', 'ADDED']);
    expect(warnings.join()).toMatch(/may not read lbctl\/v1\/pause/);
    await membership.close();
    w.store.denied.push('user.rpc/');
    await expect(readService(w.store.client(), 'user.rpc')).rejects.toMatchObject({ code: 'ETCD_PERMISSION_DENIED' });
  });
});

type Step = ['put', number, number] | ['delete', number] | ['down' | 'up' | 'compact' | 'wipe' | 'wait'];

it('equals what etcd holds after any mixture of writes and faults, and its events account for it', async () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.tuple(fc.constant('put' as const), fc.nat(4), fc.nat(3)),
    fc.tuple(fc.constant('delete' as const), fc.nat(4)),
    fc.tuple(fc.constantFrom('down' as const, 'up' as const, 'compact' as const, 'wipe' as const, 'wait' as const)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const w = world(0.3);
      const subscriber = new Subscriber(w.store.client(), 'user.rpc', {}, w.ports);
      await subscriber.start();
      const { events, membership } = await opened(w);
      for (const [what, key, value] of steps) {
        if (what === 'put') w.store.put(`user.rpc/${key}`, `10.0.0.${value}:80`);
        else if (what === 'delete') w.store.delete(`user.rpc/${key}`);
        else if (what === 'down') w.store.set('down');
        else if (what === 'up') w.store.set('none');
        else if (what === 'compact') w.store.compact();
        else if (what === 'wipe') w.store.wipe();
        else await w.clock.advance(100);
      }
      w.store.set('none');
      await w.clock.advance(5000);
      const held = new Map([...w.store.kvs.values()].map((kv) => [kv.key, kv.value.toString()]));
      expect(subscriber.addresses()).toEqual([...new Set(held.values())].sort());
      const folded = new Map<string, string>();
      for (const { type, instance } of events) {
        if (type === 'REMOVED' && instance) expect(folded.delete(instance.key)).toBe(true);
        else if (type === 'ADDED' && instance) expect(folded.has(instance.key)).toBe(false);
        if (type !== 'REMOVED' && instance) folded.set(instance.key, instance.address);
      }
      expect(folded).toEqual(held);
      await membership.close();
      await subscriber.close();
      expect(w.store.watchers.size).toBe(0);
    }),
    { numRuns: 60 },
  );
});

describe('the revision of a subscriber', () => {
  async function followed(w: ReturnType<typeof world>, client = w.store.client()) {
    const subscriber = new Subscriber(client, 'user.rpc', {}, w.ports);
    const revisions: bigint[] = [];
    subscriber.onRevision((revision) => revisions.push(revision));
    await subscriber.start();
    return { subscriber, revisions };
  }

  it('is told at once and after each batch, when the listeners know its set, and also when that stayed the same', async () => {
    const w = world();
    w.store.put('user.rpc/1', '10.0.0.1:80');
    const { subscriber, revisions } = await followed(w);
    const sets: string[] = [];
    subscriber.onChange((addresses) => sets.push(addresses.join(' ')));
    const late: bigint[] = [];
    subscriber.onRevision((revision) => late.push(revision));
    expect([subscriber.revision, late]).toEqual([2n, [2n]]);
    const told: number[] = [];
    subscriber.onRevision(() => told.push(sets.length));
    w.store.put('user.rpc/2', '10.0.0.2:80');
    await w.clock.advance(150);
    w.store.put('lbctl/v1/pause/user.rpc/10.0.0.1:80', '{}');
    await w.clock.advance(150);
    w.store.put('other.rpc/1', '10.0.0.9:80');
    await w.clock.advance(150);
    w.store.delete('user.rpc/1');
    await w.clock.advance(150);
    expect(sets).toEqual(['10.0.0.1:80', '10.0.0.1:80 10.0.0.2:80', '10.0.0.2:80']);
    expect(told).toEqual([1, 2, 2, 3]);
    expect(revisions).toEqual([3n, 4n, 6n]);
    expect(subscriber.revision).toBe(6n);
    w.store.delete('user.rpc/2');
    await subscriber.close();
    await w.clock.advance(150);
    expect(revisions).toHaveLength(3);
  });

  it('goes back with an etcd that was wiped', async () => {
    const w = world();
    w.store.put('user.rpc/1', '10.0.0.1:80');
    w.store.put('user.rpc/1', '10.0.0.2:80');
    const { subscriber, revisions } = await followed(w);
    w.store.wipe();
    w.store.put('user.rpc/1', '10.0.0.2:80');
    await w.clock.advance(3000);
    expect(revisions.at(-1)).toBe(2n);
    await subscriber.close();
  });

  it('never runs ahead of its set for one who joins while a batch is gathered', async () => {
    const w = world();
    const gathered: (() => void)[] = [];
    w.ports.defer = (fn) => void gathered.push(fn);
    w.store.put('user.rpc/1', '10.0.0.1:80');
    const client = w.store.client();
    const { subscriber: first } = await followed(w, client);
    await w.clock.advance(150);
    w.store.delete('user.rpc/1');
    await settle();
    expect(gathered).toHaveLength(1);
    const { subscriber: second } = await followed(w, client);
    expect([second.addresses(), second.revision]).toEqual([['10.0.0.1:80'], 2n]);
    for (let fn = gathered.shift(); fn; fn = gathered.shift()) fn();
    expect([second.addresses(), second.revision]).toEqual([[], 3n]);
    await Promise.all([first.close(), second.close()]);
  });
});
