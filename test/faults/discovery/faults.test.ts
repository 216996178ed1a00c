import { afterEach, beforeEach, expect, it } from 'vitest';
import { observeService, type ServiceEvent } from '../../../src/core/discovery/observe.js';
import { Publisher } from '../../../src/core/discovery/publisher.js';
import { Subscriber } from '../../../src/core/discovery/subscriber.js';
import { connect } from '../../../src/core/etcd/connection.js';
import { prefixRange } from '../../../src/core/etcd/key-text.js';
import type { Etcd } from '../../../src/core/etcd/port.js';
import { type EtcdProcess, etcdctl, startEtcd } from '../../support/etcd-process.js';
import { until } from '../../support/until.js';

const owner = { host: 'box', pid: 42, version: '0.1.0' };
const service = 'user.rpc';
let server: EtcdProcess;
let etcd: Etcd;
let publishers: Publisher[];
let subscriber: Subscriber;
let events: ServiceEvent[];
let closeWatch: () => Promise<void>;

beforeEach(async () => {
  server = await startEtcd();
  etcd = await connect({ endpoints: [server.endpoint] });
  publishers = ['10.0.0.1:80', '10.0.0.2:80'].map(
    (address, index) =>
      new Publisher(etcd, { service, address, owner, ttlSeconds: 5, ...(index === 1 ? { id: '2' } : {}) }),
  );
  await Promise.all(publishers.map((publisher) => publisher.start()));
  subscriber = new Subscriber(etcd, service);
  await subscriber.start();
  events = [];
  closeWatch = (await observeService(etcd, service, (event) => events.push(event))).close;
});

afterEach(async () => {
  server.resume();
  await closeWatch?.();
  await subscriber?.close();
  await Promise.all(publishers.map((publisher) => publisher.stop()));
  await etcd?.close();
  await server?.stop();
});

async function held(): Promise<string[]> {
  const text = await etcdctl(server.endpoint, 'get', '--prefix', `${service}/`, '--print-value-only');
  return text
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .sort();
}

/** What a person who only saw the events believes to be in rotation. */
function believed(): string[] {
  const now = new Map<string, string>();
  for (const { type, instance } of events) {
    if (type === 'REMOVED' && instance) expect(now.delete(instance.key), `REMOVED ${instance.key}`).toBe(true);
    else if (instance) now.set(instance.key, instance.address);
  }
  return [...now.values()].sort();
}

async function converged(withinMs = 5000) {
  const expected = ['10.0.0.1:80', '10.0.0.2:80'];
  const took = await until(
    async () =>
      (await held()).join() === expected.join() &&
      subscriber.addresses().join() === expected.join() &&
      subscriber.staleForMs === null &&
      believed().join() === expected.join() &&
      publishers.every((publisher) => publisher.state === 'registered'),
    withinMs,
    'what etcd holds, the subscriber and the events being the same',
  ).catch(async (error) => {
    const story = events.map((event) => `${event.type} ${event.address} ${event.cause}`).join('\n');
    throw new Error(`${error.message}: etcd ${await held()}, subscriber ${subscriber.addresses()}, events:\n${story}`);
  });
  // Exactly one lease a publisher: nothing of an earlier life is left. A revoke that goes on in the background may end it.
  await until(
    async () => Number(/found (\d+) leases/.exec(await etcdctl(server.endpoint, 'lease', 'list'))?.[1]) === 2,
    7000,
    'two leases',
  );
  return took;
}

it('down for 3 s', async () => {
  await server.kill();
  await until(() => subscriber.staleForMs !== null, 5000);
  expect(subscriber.addresses()).toEqual(['10.0.0.1:80', '10.0.0.2:80']);
  await new Promise((resolve) => setTimeout(resolve, 3000));
  await server.restart();
  await converged();
});

it('down for longer than the leases live', async () => {
  await server.kill();
  await until(() => publishers.every((publisher) => publisher.state === 'recovering'), 10_000);
  expect(subscriber.addresses()).toEqual(['10.0.0.1:80', '10.0.0.2:80']);
  await server.restart();
  await converged();
});

it('hung for longer than the leases live', async () => {
  server.suspend();
  await until(() => publishers.every((publisher) => publisher.state === 'recovering'), 12_000);
  expect(subscriber.addresses()).toEqual(['10.0.0.1:80', '10.0.0.2:80']);
  server.resume();
  await converged();
});

it('restarted with an empty store', async () => {
  await server.restart({ wipe: true });
  await converged();
});

it('compacted past a watcher that was cut off', async () => {
  await server.kill();
  await until(() => subscriber.staleForMs !== null, 5000);
  await server.restart();
  // Race the watcher for it: whichever way it goes, the end must be the same.
  const revision = (await etcd.list(prefixRange('x/'))).header.revision;
  await etcdctl(server.endpoint, 'compact', String(revision)).catch(() => {});
  await converged();
});
