import { expect, it } from 'vitest';
import { listServices } from '../../../src/core/discovery/list-services.js';
import { readService } from '../../../src/core/discovery/read.js';
import { ManualClock } from '../../support/manual-clock.js';
import { MemoryStore } from '../../support/memory-etcd.js';

it('finds services of every layout, and what is odd about their instances', async () => {
  const store = new MemoryStore(new ManualClock());
  store.grant(7n, 10);
  store.put('user.rpc/7', '10.0.0.1:80', 7n);
  store.put('user.rpc/8', '10.0.0.1:80');
  store.put('user.rpc/9', '\u0000\u0001');
  store.put('user.rpc/canary/1', '0.0.0.0:80');
  store.put('/services/user/a', '{"InstanceID":"a","Name":"user","Address":"10.0.0.2","Port":81,"Weight":3}');
  store.put('/services/user/b', '[1]');
  store.put(
    '/microservices/greet/u',
    '{"id":"u","name":"greet","version":"","metadata":null,"endpoints":["grpc://h.x:1"]}',
  );
  store.put('config/app/flag', 'true');
  store.put('lonely', '10.0.0.1:80');
  store.put('lbctl/v1/guard/user.rpc', '1');
  store.put('lbctl/v1/pause/parked/10.0.0.5:80', '{"by":"ann"}');
  const { services } = await listServices(store.client());
  const row = (service: string, dialects: string[], counts: number[]) => {
    const [instances, up, paused, permanent, duplicates] = counts;
    return { service, dialects, instances, up, paused, permanent, duplicates };
  };
  expect(services).toEqual([
    row('greet', ['kratos'], [1, 1, 0, 1, 0]),
    row('parked', ['unknown'], [1, 0, 1, 0, 0]),
    row('user', ['json', 'unknown'], [2, 2, 0, 2, 0]),
    row('user.rpc', ['gozero', 'unknown'], [3, 3, 0, 2, 2]),
    row('user.rpc/canary', ['gozero'], [1, 1, 0, 1, 0]),
  ]);

  const view = await readService(store.client(), 'user.rpc', { leases: true });
  expect(view.instances.map(({ id, notes, lease }) => [id, notes, lease?.remainingSeconds])).toEqual([
    ['9', ['PERMANENT', 'UNPARSED'], undefined],
    ['canary/1', ['PERMANENT', 'UNDIALABLE'], undefined],
    ['7', ['DUPLICATE'], 10],
    ['8', ['PERMANENT', 'DUPLICATE'], undefined],
  ]);
  const [parked] = (await readService(store.client(), 'parked')).instances;
  expect(parked).toMatchObject({ admin: 'paused', notes: ['OWNER-GONE'], pause: { by: 'ann' } });
});

it('reads the bare key in exact-match mode', async () => {
  const store = new MemoryStore(new ManualClock());
  store.put('app/user.rpc', '10.0.0.1:80');
  store.put('app/user.rpc/1', '10.0.0.2:80');
  const { instances } = await readService(store.client(), 'app/user.rpc', { exactMatch: true });
  expect(instances.map((instance) => [instance.address, instance.id])).toEqual([['10.0.0.1:80', 'user.rpc']]);
});

it('refuses a name that cannot be', async () => {
  await expect(readService(new MemoryStore(new ManualClock()).client(), 'a b')).rejects.toMatchObject({
    code: 'USAGE',
  });
});

it('tells a user who may not read all of etcd that one service can still be read', async () => {
  const store = new MemoryStore(new ManualClock());
  store.denied = ['\0'];
  await expect(listServices(store.client())).rejects.toMatchObject({
    code: 'ETCD_PERMISSION_DENIED',
    suggestions: ['Name the service: that reads its own keys only.'],
  });
});
