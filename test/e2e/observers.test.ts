/** The observer records of real gRPC clients on a real etcd. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readObservers, waitingFor } from '../../src/core/stats/observers.js';
import { start } from '../support/cli.js';
import { open } from '../support/etcd-client.js';
import { type EtcdProcess, enableAuth, etcdctl, startEtcd } from '../support/etcd-process.js';
import { type ServerProcess, startServerProcess } from '../support/grpc-server-process.js';
import { type ObservedClientOptions, startObservedClient } from '../support/observed-client.js';
import { until } from '../support/until.js';

/** For what takes a moment: on a machine that does much else, a long one. */
const withinMs = 15_000;
let etcd: EtcdProcess;
let server: ServerProcess;
beforeAll(async () => {
  [etcd, server] = await Promise.all([startEtcd(), startServerProcess()]);
});
afterAll(() => Promise.all([etcd.stop(), server.stop()]));

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const hostOf = (of: EtcdProcess) => of.endpoint.replace('http://', '');
const targetOf = (service: string, of = etcd) => `etcd:///${hostOf(of)}?key=${service}`;
let services = 0;
/** A service with one instance that never leaves. */
async function service(of = etcd): Promise<string> {
  const name = `seen${++services}.rpc`;
  await etcdctl(of.endpoint, 'put', `${name}/1`, server.address);
  return name;
}
async function client(options: ObservedClientOptions) {
  const started = await startObservedClient(options);
  endings.push(() => started.kill());
  return started;
}
async function own(): Promise<EtcdProcess> {
  const started = await startEtcd();
  endings.push(() => started.stop());
  return started;
}
async function observersOf(name: string, of = etcd) {
  const connection = await open(of.endpoint);
  return () => readObservers(connection, name);
}
async function one(name: string, of = etcd) {
  const read = await observersOf(name, of);
  await until(async () => (await read()).length === 1, withinMs, 'one record');
  const [record] = await read();
  if (record === undefined) throw new Error('no record');
  return { read, record };
}

describe('the record of a gRPC client', () => {
  test('tells who it is and the revision that it knows, and goes with the client, which ends its process', async () => {
    const name = await service();
    const it = await client({ target: targetOf(name), settings: { policy: 'p2c_ewma', observe: 'shop' } });
    const { read, record } = await one(name);
    expect(record).toMatchObject({
      client: 'shop',
      pid: it.pid,
      policy: 'p2c_ewma',
      inFlight: new Map(),
      statistics: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
    });
    expect(record.id).toMatch(/^shop-/);
    const put = await etcdctl(etcd.endpoint, 'put', `${name}/2`, server.address, '-w', 'json');
    const { header } = JSON.parse(put);
    await until(async () => (await read())[0]?.revision === BigInt(header.revision), withinMs, 'the new revision');
    const ended = await it.close();
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.tookMs).toBeLessThan(4500);
    expect(await read()).toEqual([]);
  });

  test('follows a revision that changes nothing for calls, and one of another service not at all', async () => {
    const name = await service();
    await client({ target: targetOf(name) });
    const { read, record } = await one(name);
    await etcdctl(etcd.endpoint, 'put', `other.${name}/1`, server.address);
    const put = await etcdctl(etcd.endpoint, 'put', `lbctl/v1/pause/${name}/10.9.9.9:1`, '{}', '-w', 'json');
    const revision = BigInt(JSON.parse(put).header.revision);
    expect(record.revision).toBeLessThan(revision);
    await until(async () => (await read())[0]?.revision === revision, withinMs, 'the revision of the pause');
  });

  test('is one for each channel, and none for one that does not want it or whose list is not from etcd', async () => {
    const name = await service();
    const target = targetOf(name);
    const silent = { policy: 'round_robin', observe: false };
    const [quiet, direct] = await Promise.all([
      client({ target, settings: silent }),
      client({ target: `direct:///${server.address}` }),
      client({ target }),
      client({ target }),
    ]);
    const read = await observersOf(name);
    await until(async () => (await read()).length === 2, withinMs, 'two records');
    await quiet.call();
    const records = await read();
    expect(new Set(records.map(({ id }) => id)).size).toBe(2);
    expect(records.map(({ pid }) => pid)).not.toContain(quiet.pid);
    const all = await etcdctl(etcd.endpoint, 'get', '--prefix', '--print-value-only', 'lbctl/v1/observers/');
    expect(all).toContain(`"pid":${records[0]?.pid},`);
    expect(all).not.toContain(`"pid":${direct.pid},`);
  });

  test('goes while the channel is idle, and is back at its next call', async () => {
    const name = await service();
    const it = await client({ target: targetOf(name), options: { 'grpc.client_idle_timeout_ms': 1000 } });
    const read = await observersOf(name);
    const isThere = async () => {
      await it.call();
      return (await read())[0]?.pid === it.pid;
    };
    await until(isThere, withinMs, 'the record');
    await until(async () => (await read()).length === 0, withinMs, 'no record');
    await until(isThere, withinMs, 'the record again');
  });

  test('outlives a client that is killed by no more than its TTL', async () => {
    const name = await service();
    const it = await client({ target: targetOf(name) });
    const { read } = await one(name);
    await it.kill();
    expect(await read()).toHaveLength(1);
    // etcd looks for leases that have run out twice a second.
    await until(async () => (await read()).length === 0, 11_000, 'no record');
  });

  test('of `lbctl call` is there while it calls, and gone when it has ended', async () => {
    const name = await service();
    const args = [
      '--method',
      'test.Echo/Say',
      '--proto',
      'test/fixtures/echo.proto',
      '--rps',
      '20',
      '--duration',
      '60s',
    ];
    const calling = start(['call', name, '--endpoints', hostOf(etcd), ...args]);
    endings.push(() => calling.kill());
    const { read, record } = await one(name);
    expect(record).toMatchObject({ client: 'lbctl-call', pid: calling.child.pid });
    calling.child.kill('SIGINT');
    expect((await calling.ended).code).toBe(130);
    expect(await read()).toEqual([]);
  });
});

describe('when etcd fails', () => {
  test('calls go on, and the record is back after a restart and after a wipe', async () => {
    const server_ = await own();
    const name = await service(server_);
    const it = await client({ target: targetOf(name, server_), rps: 50 });
    const { record } = await one(name, server_);
    for (const wipe of [false, true]) {
      await server_.restart({ wipe });
      await etcdctl(server_.endpoint, 'put', `${name}/${wipe}`, server.address);
      const put = await etcdctl(server_.endpoint, 'put', `${name}/again`, server.address, '-w', 'json');
      const revision = BigInt(JSON.parse(put).header.revision);
      const read = await observersOf(name, server_);
      const isBack = async () => {
        const observers = await read();
        return observers.length === 1 && waitingFor(observers, { addresses: [], revision }).length === 0;
      };
      await until(isBack, withinMs, `the record after ${wipe ? 'a wipe' : 'a restart'}`);
      expect((await read())[0]?.id).toBe(record.id);
      // A wiped etcd knows no instance until one is put there.
      if (!wipe) expect(await it.counts()).toMatchObject({ failures: 0 });
    }
  });

  test('a client that is closed ends its process soon, whether etcd is gone or hangs', async () => {
    for (const fault of ['gone', 'hanging']) {
      const server_ = await own();
      const name = await service(server_);
      const it = await client({ target: targetOf(name, server_) });
      await one(name, server_);
      if (fault === 'gone') await server_.kill();
      else server_.suspend();
      const ended = await it.close();
      expect(ended, fault).toMatchObject({ code: 0, stderr: '' });
      expect(ended.tookMs, fault).toBeLessThan(4500);
    }
  });

  test('a client whose account may not write there calls as before, and asks etcd for nothing more', async () => {
    const server_ = await own();
    const name = await service(server_);
    await enableAuth(server_.endpoint, { name: 'greeter', password: 'secret', prefix: `${name}/` });
    const auth = { user: 'greeter', password: 'secret' };
    const it = await client({
      target: targetOf(name, server_),
      rps: 50,
      settings: { policy: 'random', etcd: { auth } },
    });
    const root = ['--user', 'root:root'];
    const leases = async () => (await etcdctl(server_.endpoint, 'lease', 'list', ...root)).trim();
    await until(async () => (await it.counts()).calls > 100, withinMs);
    expect(await it.counts()).toMatchObject({ failures: 0 });
    expect(await leases()).toBe('found 0 leases');
    expect(await etcdctl(server_.endpoint, 'get', '--prefix', 'lbctl/', ...root)).toBe('');
    expect(await it.close()).toMatchObject({ code: 0, stderr: '' });
  });
});
