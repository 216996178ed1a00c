import { expect, test } from 'vitest';
import { InstanceSet } from '../../src/cli/instance-set.js';
import type { ServiceEventType } from '../../src/core/discovery/observe.js';
import type { Instance } from '../../src/core/model/instance.js';
import { instance } from '../support/instances.js';

function after(...events: ReadonlyArray<[ServiceEventType, Partial<Instance>]>): InstanceSet {
  const set = new InstanceSet();
  for (const [type, fields] of events) {
    const subject = instance(fields);
    set.apply({ type, revision: 1n, address: subject.address, cause: '', instance: subject });
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

test('a pause keeps the instance, a resume under a new key is the same instance', () => {
  const paused = after(['ADDED', a], ['PAUSED', { ...a, admin: 'paused' }]);
  expect(paused.totals).toEqual({ up: 0, paused: 1 });
  const resumed = after(['PAUSED', { ...a, admin: 'paused' }], ['RESUMED', { ...a, key: 'user.rpc/9' }]);
  expect(resumed.totals).toEqual({ up: 1, paused: 0 });
  expect(resumed.instances().map((entry) => entry.key)).toEqual(['user.rpc/9']);
});

test('lines about the connection change nothing', () => {
  const set = after(['ADDED', a]);
  set.apply({ type: 'STALE', revision: 2n, address: '', cause: 'gone', instance: null });
  expect(set.totals).toEqual({ up: 1, paused: 0 });
});
