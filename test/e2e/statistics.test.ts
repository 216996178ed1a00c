/** The statistics of programs as they are shipped: of `lbctl call`, and of a client of the library. */
import { get } from 'node:http';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { StatisticsDocument } from '../../src/core/stats/export/document.js';
import { readObservers } from '../../src/core/stats/observers.js';
import { start } from '../support/cli.js';
import { open } from '../support/etcd-client.js';
import { type EtcdProcess, startEtcd } from '../support/etcd-process.js';
import { type ServerProcess, startServerProcess } from '../support/grpc-server-process.js';
import { type ObservedClientOptions, startObservedClient } from '../support/observed-client.js';
import { until } from '../support/until.js';

const withinMs = 15_000;
const service = 'told.rpc';
let etcd: EtcdProcess;
let server: ServerProcess;
beforeAll(async () => {
  etcd = await startEtcd();
  server = await startServerProcess({ register: { etcd: etcd.endpoint, service } });
});
afterAll(async () => {
  await server.stop();
  await etcd.stop();
});
const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const hostPort = () => etcd.endpoint.replace('http://', '');
async function client(options: ObservedClientOptions) {
  const started = await startObservedClient(options);
  endings.push(() => started.kill());
  return started;
}
/** Where the only client of the service says that its statistics are. */
async function told(): Promise<string> {
  const connection = await open(etcd.endpoint);
  const record = async () => (await readObservers(connection, service))[0];
  await until(async () => (await record())?.statistics, withinMs, 'a record that tells');
  return (await record())?.statistics ?? '';
}
const none = async () => (await readObservers(await open(etcd.endpoint), service)).length === 0;
async function documentAt(at: string): Promise<StatisticsDocument> {
  return (await (await fetch(`http://${at}/statistics`)).json()) as StatisticsDocument;
}
/** Reads the live stream and never ends it. */
function hangOn(at: string): void {
  const request = get(`http://${at}/statistics/stream`, { agent: false }, (response) => {
    response.on('error', () => {}).resume();
  });
  request.on('error', () => {});
  endings.push(() => request.destroy());
}
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

test('`call` serves its own while it runs, and ends with a reader that hangs on', async () => {
  const calling = start(['call', service, '--rps', '50', '--duration', '4s', '--endpoints', etcd.endpoint]);
  const at = await told();
  expect(at).toMatch(/^127\.0\.0\.1:\d+$/);
  hangOn(at);
  await until(async () => ((await documentAt(at)).clients[0]?.instances[0]?.picks ?? 0) > 10, withinMs, 'calls');
  const document = await documentAt(at);
  expect(document.clients).toMatchObject([{ service, client: 'lbctl-call', instances: [{ address: server.address }] }]);
  // From the bundle, where a library that is loaded late has another shape.
  const metrics = await fetch(`http://${at}/metrics`);
  expect(metrics.status).toBe(200);
  expect(await metrics.text()).toMatch(/^lbctl_client_attempts_total\{.*code="OK"\} \d+$/m);
  expect((await calling.ended).code).toBe(0);
  await until(none, withinMs, 'the end of the record');
});

test('a client of the library ends its process with a reader that hangs on, and says nothing', async () => {
  const it = await client({
    target: `etcd:///${hostPort()}?key=${service}`,
    settings: { policy: 'p2c_ewma' },
    rps: 20,
  });
  hangOn(await told());
  const { code, stderr, tookMs } = await it.close();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(tookMs).toBeLessThan(5000);
  await until(none, withinMs, 'the end of the record');
});

test('a client of the library is served where it says, with or without etcd, or not at all', async () => {
  const at = `127.0.0.1:${await freePort()}`;
  const direct = await client({
    target: `direct:///${server.address}`,
    settings: { policy: 'p2c_ewma', observe: false, statistics: at },
  });
  const other = `127.0.0.1:${await freePort()}`;
  const plain = await client({
    target: `ipv4:${server.address}`,
    settings: { policy: 'p2c_ewma', observe: false, statistics: other },
  });
  expect((await documentAt(at)).clients).toMatchObject([
    { service: 'direct', id: '', pid: direct.pid, instances: [{ address: server.address, picks: 1 }] },
  ]);
  // A resolver of grpc-js does not tell what the service is called.
  expect((await documentAt(other)).clients).toMatchObject([
    { service: '', pid: plain.pid, instances: [{ address: server.address, picks: 1 }] },
  ]);
  const named = `127.0.0.1:${await freePort()}`;
  const target = `etcd:///${hostPort()}?key=${service}`;
  const known = await client({ target, settings: { policy: 'p2c_ewma', observe: 'shop', statistics: named } });
  expect(await told()).toBe(named);
  expect((await documentAt(named)).clients).toMatchObject([{ service, client: 'shop', pid: known.pid }]);
  expect((await documentAt(named)).clients[0]?.id).toMatch(/^shop-[a-z0-9]{6}$/);
  await known.close();
  await until(none, withinMs, 'the end of the record');
  await client({ target, settings: { policy: 'p2c_ewma', statistics: false } });
  const connection = await open(etcd.endpoint);
  await until(async () => (await readObservers(connection, service)).length === 1, withinMs, 'a record');
  expect(await readObservers(connection, service)).toMatchObject([{ statistics: '' }]);
});

test('a port that is taken leaves the record without statistics, and calls as they are', async () => {
  const blocker = createServer();
  await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
  endings.push(() => blocker.close());
  const address = blocker.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const target = `etcd:///${hostPort()}?key=${service}`;
  const it = await client({ target, settings: { policy: 'p2c_ewma', statistics: `127.0.0.1:${port}` } });
  expect(await it.call()).toMatchObject({ failures: 0 });
  const connection = await open(etcd.endpoint);
  // Of a client before it that was killed a record may be left.
  const own = async () => (await readObservers(connection, service)).filter(({ pid }) => pid === it.pid);
  await until(async () => (await own()).length === 1, withinMs, 'a record');
  expect(await own()).toMatchObject([{ statistics: '' }]);
  const { code, stderr } = await it.close();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});
