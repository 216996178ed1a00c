import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { Observer, type ObserverOptions } from '../../../src/core/stats/observer.js';
import { readObservers } from '../../../src/core/stats/observers.js';
import { ManualClock, settle } from '../../support/manual-clock.js';
import { MemoryStore } from '../../support/memory-etcd.js';

const prefix = 'lbctl/v1/observers/user.rpc/';

function world(more: Partial<ObserverOptions> = {}) {
  const clock = new ManualClock();
  const store = new MemoryStore(clock);
  // So that an applied revision of a test is one that a client can know.
  store.revision = 1000n;
  const ports = { clock, rng: () => 0.5, defer: setImmediate };
  const state = { revision: 7n, calls: new Map<string, number>() };
  const client = store.client();
  const warnings: string[] = [];
  const options = {
    policy: 'p2c_ewma',
    applied: () => state.revision,
    inFlight: () => state.calls,
    onWarning: (warning: string) => warnings.push(warning),
    ...more,
  };
  const observer = new Observer(client, 'user.rpc', options, ports);
  /** When each write of the record came, as etcd tells it. */
  const writes: number[] = [];
  const watch = () =>
    client.watch(
      { ranges: [{ key: prefix, end: `${prefix}\xff` }], afterRevision: store.revision },
      {
        events: (events) => {
          for (const { type } of events) if (type === 'put') writes.push(clock.now());
        },
        live: () => {},
        stale: () => {},
        lost: () => {},
        denied: () => {},
      },
    );
  const read = async () => (await readObservers(store.client(), 'user.rpc'))[0];
  const set = (revision: bigint, calls: Record<string, number> = {}) => {
    state.revision = revision;
    state.calls = new Map(Object.entries(calls));
    observer.changed();
  };
  return { clock, store, client, observer, state, set, writes, watch, read, warnings };
}

describe('an observer', () => {
  it('writes who it is and what it has applied, on a lease that goes when it stops', async () => {
    const { store, observer, set, read, clock } = world({ client: 'shop' });
    observer.start();
    await settle();
    expect(observer.id).toMatch(/^shop-[0-9a-z]{6}$/);
    const { host, pid } = (await read()) ?? {};
    expect(host).not.toBe('');
    expect(pid).toBe(process.pid);
    expect(await read()).toEqual({
      ...{ id: observer.id, host, pid, client: 'shop', policy: 'p2c_ewma' },
      ...{ revision: 7n, inFlight: new Map(), statistics: '' },
    });
    const kv = store.get(prefix + observer.id);
    expect(kv?.lease).not.toBe(0n);
    await clock.advance(60_000);
    set(8n, { 'a:1': 2, 'b:1': 0 });
    await settle();
    expect(await read()).toMatchObject({ revision: 8n, inFlight: new Map([['a:1', 2]]) });
    const now = store.get(prefix + observer.id);
    expect(now?.lease).toBe(kv?.lease);
    expect(now?.value.toString()).toContain('"inFlight":{"a:1":2}');
    await observer.stop();
    expect(store.keys()).toEqual([]);
    expect(store.leases.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('is named after its machine and process, and never as another one', async () => {
    const store = new MemoryStore(new ManualClock());
    const options = { policy: 'random', applied: () => 0n, inFlight: () => new Map() };
    const ids = Array.from({ length: 50 }, () => new Observer(store.client(), 'user.rpc', options).id);
    expect(new Set(ids).size).toBe(50);
    expect(ids[0]).toContain(`-${process.pid}-`);
  });

  it('refuses a service that cannot be', () => {
    const { client } = world();
    const options = { policy: 'random', applied: () => 0n, inFlight: () => new Map() };
    expect(() => new Observer(client, '', options)).toThrow(/service/i);
  });

  it('writes nothing for a change that changes nothing, not even one that was taken back', async () => {
    const { observer, set, writes, watch, clock } = world();
    watch();
    observer.start();
    await settle();
    observer.changed();
    await clock.advance(5000);
    set(8n);
    await settle();
    set(9n);
    await clock.advance(500);
    set(8n);
    await clock.advance(5000);
    expect(writes).toHaveLength(2);
  });

  it('writes at most once a second, the first change at once, and in the end the last one', async () => {
    const waitMs = fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 900, max: 1500 }));
    await fc.assert(
      fc.asyncProperty(fc.array(waitMs, { maxLength: 20 }), async (waits) => {
        const { observer, set, writes, watch, read, clock } = world();
        watch();
        observer.start();
        await settle();
        let revision = 10n;
        for (const ms of waits) {
          await clock.advance(ms);
          const quiet = clock.now() - (writes.at(-1) ?? 0) >= 1000;
          set(++revision);
          await settle();
          if (quiet) expect(writes.at(-1)).toBe(clock.now());
        }
        await clock.advance(1000);
        expect(await read()).toMatchObject({ revision: waits.length > 0 ? revision : 7n });
        for (const [index, at] of writes.entries()) {
          expect(at - (writes[index - 1] ?? 0)).toBeGreaterThanOrEqual(1000);
        }
        await observer.stop();
      }),
      { numRuns: 40 },
    );
  });
});

describe('an observer whose etcd fails', () => {
  it('has its record back on a new lease when the lease is lost', async () => {
    const { store, observer, read, clock } = world();
    observer.start();
    await settle();
    const before = store.get(prefix + observer.id)?.lease ?? 0n;
    store.revoke(before);
    expect(await read()).toBeUndefined();
    // Its next beat, then a short random wait.
    await clock.advance(10_000 / 3 + 200);
    expect(await read()).toMatchObject({ revision: 7n });
    expect(store.leases.size).toBe(1);
    await observer.stop();
    expect(store.keys()).toEqual([]);
  });

  it('does not wait for a beat when a write tells that the lease is gone', async () => {
    const { store, observer, set, read, clock } = world();
    observer.start();
    await clock.advance(2000);
    store.revoke(store.get(prefix + observer.id)?.lease ?? 0n);
    set(8n);
    await clock.advance(1000 + 100);
    expect(await read()).toMatchObject({ revision: 8n });
    expect(store.leases.size).toBe(1);
    await observer.stop();
  });

  it.each(['down', 'hung'] as const)('has its record back after an outage longer than its TTL (%s)', async (fault) => {
    const { store, observer, set, read, clock } = world();
    observer.start();
    await settle();
    store.set(fault);
    set(8n);
    await clock.advance(25_000);
    store.set('none');
    await clock.advance(3000 + 1050 + 100);
    expect(await read()).toMatchObject({ revision: 8n });
    await clock.advance(20_000);
    expect((await read())?.revision).toBe(8n);
    expect(store.leases.size).toBe(1);
    await observer.stop();
    expect(store.keys()).toEqual([]);
  });

  it('has its record back after etcd was wiped, and is not believed before it has read it again', async () => {
    const { store, observer, state, set, read, clock } = world();
    observer.start();
    await settle();
    state.revision = 900n;
    store.wipe();
    await clock.advance(10_000 / 3 + 200);
    expect(await read()).toMatchObject({ revision: 0n });
    set(1n);
    await clock.advance(1000);
    expect(await read()).toMatchObject({ revision: 1n });
    await observer.stop();
  });

  it('writes again when it cannot know whether its write was', async () => {
    const { store, observer, set, read, clock } = world();
    observer.start();
    await settle();
    await clock.advance(2000);
    store.set('hung');
    set(8n);
    await clock.advance(1000);
    store.set('none');
    await clock.advance(3000 + 1050);
    expect(await read()).toMatchObject({ revision: 8n });
    await observer.stop();
  });

  it('stops without a word to etcd or a loose end while etcd is down', async () => {
    const { store, observer, clock } = world();
    observer.start();
    await settle();
    store.set('down');
    await observer.stop();
    await observer.stop();
    expect(clock.pending).toBe(store.leases.size);
  });

  it('is stopped within a second while etcd hangs, in the middle of whatever it does', async () => {
    for (const doing of ['granting', 'writing', 'waiting', 'nothing'] as const) {
      const { store, observer, set, clock } = world();
      if (doing === 'granting') store.set('hung');
      observer.start();
      await settle();
      if (doing === 'writing') {
        await clock.advance(2000);
        store.set('hung');
      }
      if (doing !== 'nothing') set(8n);
      await clock.advance(100);
      store.set('hung');
      let hasStopped = false;
      void observer.stop().then(() => {
        hasStopped = true;
      });
      await clock.advance(1000);
      expect(hasStopped, doing).toBe(true);
      store.set('none');
      await clock.advance(15_000);
      expect(store.keys(), doing).toEqual([]);
      expect(clock.pending, doing).toBe(0);
    }
  });

  it('can be stopped by the program that it is just asking', async () => {
    const stopped = vi.fn();
    const { store, observer, clock } = world({
      applied: () => {
        void observer.stop().then(stopped);
        return 7n;
      },
    });
    observer.start();
    await settle();
    expect(stopped).toHaveBeenCalled();
    expect(store.leases.size).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it('says once that it may not write, and is quiet from then on', async () => {
    const { store, observer, set, clock, warnings } = world();
    store.denied = [prefix];
    observer.start();
    await settle();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(prefix);
    expect(store.leases.size).toBe(0);
    const calls = store.calls.length;
    set(8n);
    await clock.advance(60_000);
    expect(store.calls).toHaveLength(calls);
    expect(warnings).toHaveLength(1);
    await observer.stop();
  });
});
