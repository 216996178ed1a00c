import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { listServices } from '../../../src/core/discovery/list-services.js';
import { observeService, type ServiceEvent } from '../../../src/core/discovery/observe.js';
import { Publisher } from '../../../src/core/discovery/publisher.js';
import type { PublisherOptions } from '../../../src/core/discovery/publisher-options.js';
import { readService } from '../../../src/core/discovery/read.js';
import { Subscriber } from '../../../src/core/discovery/subscriber.js';
import { connect } from '../../../src/core/etcd/connection.js';
import type { Etcd } from '../../../src/core/etcd/port.js';
import { pauseInstances } from '../../../src/core/operations/pause.js';
import { resumeInstances } from '../../../src/core/operations/resume.js';
import { type EtcdProcess, etcdctl, startEtcd } from '../../support/etcd-process.js';
import { until } from '../../support/until.js';

const owner = { host: 'box', pid: 42, version: '0.1.0' };
let server: EtcdProcess;
let etcd: Etcd;
let ending: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await startEtcd();
  etcd = await connect({ endpoints: [server.endpoint] });
});

afterEach(async () => {
  await Promise.all(ending.map((end) => end()));
  ending = [];
});

afterAll(async () => {
  await etcd?.close();
  await server?.stop();
});

let count = 0;
async function world() {
  count++;
  const service = `svc${count}/user.rpc`;
  const events: ServiceEvent[] = [];
  const membership = await observeService(etcd, service, (event) => events.push(event));
  ending.push(() => membership.close());
  const publish = async (address: string, more: Partial<PublisherOptions> = {}) => {
    const publisher = new Publisher(etcd, { service, address, owner, ...more });
    ending.push(() => publisher.stop());
    await publisher.start();
    return publisher;
  };
  const last = () => events.at(-1);
  const told = (type: string, cause: string | RegExp, withinMs: number) =>
    until(() => last()?.type === type && (last()?.cause ?? '').search(cause) === 0, withinMs, `${type} ${cause}`).catch(
      (error) => {
        throw new Error(`${error.message}; got ${events.map((event) => `${event.type} ${event.cause}`).join(' | ')}`);
      },
    );
  return { service, events, publish, told };
}

describe('registering in a real etcd', () => {
  it.each(['gozero', 'json', 'kratos', 'endpoint'] as const)('shows up, whole, in layout %s', async (dialect) => {
    const { service, publish, events } = await world();
    const publisher = await publish('10.0.0.1:80', {
      dialect,
      weight: 5,
      zone: 'a',
      version: 'v2',
      metadata: { team: 'x' },
    });
    const expected = {
      address: '10.0.0.1:80',
      dialect,
      weight: 5,
      zone: 'a',
      version: 'v2',
      metadata: { team: 'x' },
      owner,
    };
    // A watch that has just begun may get the key 100 ms before the record; then a CHANGED brings the rest.
    await until(() => events.at(-1)?.instance?.owner, 1000);
    expect(events.at(-1)?.instance).toMatchObject(expected);
    const view = await readService(etcd, service, { leases: true });
    expect(view.instances).toMatchObject([
      { ...expected, key: publisher.key, lease: { id: publisher.leaseId, ttlSeconds: 10 } },
    ]);
    const { services } = await listServices(etcd);
    expect(services.find((entry) => entry.service === service)).toMatchObject({ instances: 1, dialects: [dialect] });
  });

  it('tells of a stop within 200 ms, of a deletion and of what comes after with their causes', {
    retry: 2,
  }, async () => {
    const { publish, told, service } = await world();
    const first = await publish('10.0.0.1:80');
    await told('ADDED', 'registered', 1000);
    const { key, leaseId } = first;
    const deletedAt = performance.now();
    await etcdctl(server.endpoint, 'del', key);
    await told('ADDED', 're-registered, same lease', 1000);
    expect(performance.now() - deletedAt).toBeLessThan(1000);
    expect(first.leaseId).toBe(leaseId);
    await etcd.revokeLease(leaseId);
    await told('ADDED', 're-registered, new lease', 2000);
    const { kvs } = await etcd.list({ key: `${service}/`, end: `${service}0` });
    expect(kvs.map((kv) => kv.key)).toEqual([first.key]);
    const stopping = performance.now();
    await first.stop();
    await told('REMOVED', 'expired or revoked', 200 - (performance.now() - stopping));
    expect((await etcd.leaseInfo(leaseId)).remainingSeconds).toBe(-1);
  });

  // A busy machine may be late once, not three times.
  it('puts a deleted key back within 100 ms', { retry: 2 }, async () => {
    const { publish, told, service } = await world();
    const publisher = await publish('10.0.0.1:80');
    await told('ADDED', 'registered', 1000);
    const range = { key: publisher.key };
    const before = (await etcd.list(range)).kvs[0];
    await new Promise((resolve) => setImmediate(resolve));
    await etcd.txn({ success: [{ delete: range }] });
    const took = await until(async () => (await etcd.list(range)).kvs.length === 1, 1000);
    const after = (await etcd.list(range)).kvs[0];
    expect(after).toMatchObject({ lease: before?.lease, value: before?.value, key: before?.key });
    expect(after?.createRevision).not.toBe(before?.createRevision);
    expect(took).toBeLessThan(100);
    expect((await readService(etcd, service)).instances).toMatchObject([{ owner }]);
  });

  it('pauses and resumes a managed instance, and by itself when its time is over', async () => {
    const { publish, service, events } = await world();
    await Promise.all([publish('10.0.0.1:80', { id: '1' }), publish('10.0.0.2:80')]);
    const subscriber = new Subscriber(etcd, service);
    ending.push(() => subscriber.close());
    await subscriber.start();
    const paused = await pauseInstances(etcd, { service, selectors: ['1'], by: 'ann', reason: 'deploy', forMs: 2000 });
    expect(paused).toMatchObject({ outcome: 'done', instances: [{ address: '10.0.0.1:80', state: 'paused' }] });
    expect(paused.instances[0]?.waitedMs).toBeLessThan(1000);
    await until(() => subscriber.addresses().join() === '10.0.0.2:80', 1000);
    await until(() => subscriber.addresses().join() === '10.0.0.1:80,10.0.0.2:80', 5000);
    await until(() => events.at(-1)?.type === 'RESUMED', 1000);
    await pauseInstances(etcd, { service, selectors: ['1'], by: 'ann' });
    expect(await resumeInstances(etcd, { service, selectors: ['1'], by: 'ann' })).toMatchObject({ outcome: 'done' });
    await until(() => events.filter((event) => event.type === 'RESUMED').length === 2, 1000);
    expect(
      events
        .filter((event) => event.type !== 'SYNCED')
        .map((event) => event.type)
        .slice(2),
    ).toEqual(['PAUSED', 'RESUMED', 'PAUSED', 'RESUMED']);
    expect(events.find((event) => event.type === 'PAUSED')?.cause).toBe('paused by ann: deploy');
  });

  it('lets an exclusive publisher take an address for itself', async () => {
    const { publish, service } = await world();
    const older = await publish('10.0.0.1:80');
    const newer = await publish('10.0.0.1:80', { exclusive: true });
    await until(() => older.state === 'stopped', 2000);
    expect(older.error).toMatchObject({ code: 'WRITE_CONFLICT' });
    expect((await readService(etcd, service)).instances.map((one) => one.key)).toEqual([newer.key]);
  });

  it('shows what is odd and never fails on it', async () => {
    const { service } = await world();
    const put = (id: string, value: Buffer | string) => ({ put: `${service}/${id}`, value });
    await etcd.txn({
      success: [
        put('binary', Buffer.from([0xff, 0x00, 0x1b])),
        put('escape', '\x1b[2J'),
        put('json', '{"a":1}'),
        put('big', Buffer.alloc(1024 * 1024, 'x')),
        put('any', '[::]:80'),
        put('fine', '10.0.0.1:80'),
      ],
    });
    const { instances } = await readService(etcd, service);
    expect(Object.fromEntries(instances.map(({ id, notes }) => [id, notes.join()]))).toEqual({
      binary: 'PERMANENT,UNPARSED',
      escape: 'PERMANENT,UNPARSED',
      json: 'PERMANENT,UNPARSED',
      big: 'PERMANENT,UNPARSED',
      any: 'PERMANENT,UNDIALABLE',
      fine: 'PERMANENT',
    });
  });
});
