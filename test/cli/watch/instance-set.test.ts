import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InstanceSet } from '../../../src/cli/watch/instance-set.js';
import { observeService, type ServiceEventType } from '../../../src/core/discovery/observe.js';
import { readService } from '../../../src/core/discovery/read.js';
import type { Instance } from '../../../src/core/model/instance.js';
import { instance } from '../../support/instances.js';
import { ManualClock } from '../../support/manual-clock.js';
import { MemoryStore } from '../../support/memory-etcd.js';

function after(...events: ReadonlyArray<[ServiceEventType, Partial<Instance>]>): InstanceSet {
  const set = new InstanceSet();
  for (const [type, fields] of events) {
    const subject = instance(fields);
    set.apply({ type, revision: 1n, address: subject.address, cause: '', instance: subject, previous: null });
  }
  return set;
}

const a = { key: 'user.rpc/1', address: 'a:1' };
const b = { key: 'user.rpc/2', address: 'b:1' };

test('it holds what the events leave', () => {
  const set = after(['SNAPSHOT', b], ['ADDED', a], ['CHANGED', { ...a, weight: 5 }]);
  expect(set.instances().map((entry) => [entry.address, entry.weight])).toEqual([
    ['a:1', 5],
    ['b:1', 1],
  ]);
  expect(set.totals).toEqual({ up: 2, paused: 0 });
  const gone = after(['SNAPSHOT', a], ['SNAPSHOT', b], ['REMOVED', a]);
  expect(gone.instances().map((entry) => entry.address)).toEqual(['b:1']);
  expect(gone.totals).toEqual({ up: 1, paused: 0 });
});

test('a pause and a resume, each under a new key, leave one instance', () => {
  const set = after(['ADDED', a], ['ADDED', b]);
  const paused = instance({ ...a, key: 'user.rpc/8', admin: 'paused' });
  const back = instance({ ...a, key: 'user.rpc/9' });
  const event = { revision: 2n, address: 'a:1', cause: '' };
  set.apply({ ...event, type: 'PAUSED', instance: paused, previous: instance(a) });
  expect(set.totals).toEqual({ up: 1, paused: 1 });
  set.apply({ ...event, type: 'RESUMED', instance: back, previous: paused });
  expect(set.totals).toEqual({ up: 2, paused: 0 });
  expect(set.instances().map((entry) => entry.key)).toEqual(['user.rpc/9', 'user.rpc/2']);
});

test('whatever is registered, paused, resumed or dies: it is what a fresh read of the service says', async () => {
  const addresses = ['10.0.0.1:80', '10.0.0.2:80'] as const;
  const keys = fc.integer({ min: 1, max: 3 });
  const address = fc.constantFrom(...addresses);
  const step = fc.oneof(
    fc.record({ what: fc.constant('register' as const), key: keys, address }),
    fc.record({ what: fc.constant('takeOut' as const), key: keys, to: keys, address }),
    fc.record({ what: fc.constant('die' as const), key: keys }),
    fc.record({ what: fc.constant('pause' as const), key: keys, address }),
    fc.record({ what: fc.constant('resume' as const), address }),
  );
  const owner = { host: 'h', pid: 1, version: '1' };
  const meta = (key: number, at: string, state: string) => ({
    put: `lbctl/v1/meta/user.rpc/${key}`,
    value: JSON.stringify({ address: at, dialect: 'gozero', key: `user.rpc/${key}`, weight: 1, state, owner }),
  });
  const gone = (key: number) => [
    { delete: { key: `user.rpc/${key}` } },
    { delete: { key: `lbctl/v1/meta/user.rpc/${key}` } },
  ];
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, fc.boolean()), { maxLength: 20 }), async (steps) => {
      const clock = new ManualClock();
      const store = new MemoryStore(clock);
      const ports = { clock, rng: () => 0.5, defer: (fn: () => void) => void setImmediate(fn) };
      const set = new InstanceSet();
      const membership = await observeService(store.client(), 'user.rpc', (event) => set.apply(event), {}, ports);
      for (const [one, pauses] of steps) {
        if (one.what === 'register') {
          store.write([{ put: `user.rpc/${one.key}`, value: one.address }, meta(one.key, one.address, 'up')]);
        } else if (one.what === 'takeOut') {
          const old = gone(one.key).slice(0, one.key === one.to ? 1 : 2);
          store.write([...old, meta(one.to, one.address, 'paused')]);
        } else if (one.what === 'die') store.write(gone(one.key));
        else if (one.what === 'resume') store.delete(`lbctl/v1/pause/user.rpc/${one.address}`);
        else {
          const restore = { key: `user.rpc/${one.key}`, id: String(one.key), dialect: 'gozero' };
          const record = { by: 'ann', at: '', reason: '', strategy: 'managed', until: null, restore };
          store.put(`lbctl/v1/pause/user.rpc/${one.address}`, JSON.stringify(record));
        }
        if (pauses) await clock.advance(100);
      }
      await clock.advance(150);
      const seen = (all: readonly Instance[]) => all.map((entry) => [entry.address, entry.key, entry.admin]);
      const { instances } = await readService(store.client(), 'user.rpc');
      expect(seen(set.instances())).toEqual(seen(instances));
      expect(set.totals.up).toBe(instances.filter((entry) => entry.admin === 'up').length);
      await membership.close();
    }),
    { numRuns: 300 },
  );
});

test('lines about the connection change nothing', () => {
  const set = after(['ADDED', a]);
  set.apply({ type: 'STALE', revision: 2n, address: '', cause: 'gone', instance: null, previous: null });
  expect(set.totals).toEqual({ up: 1, paused: 0 });
});
