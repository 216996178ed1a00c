import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { EtcdSettings } from '../../../src/core/etcd/port.js';
import { LbctlError } from '../../../src/core/model/errors.js';
import { type Certificates, makeCertificates, readPair } from '../../support/certificates.js';
import { open, record } from '../../support/etcd-client.js';
import { type EtcdProcess, enableAuth, etcdctl, startEtcd } from '../../support/etcd-process.js';
import { startProxy, startSilentPort } from '../../support/tcp-proxy.js';

/** The error of one read with these settings, and how long it took. */
async function failureOf(endpoints: string | string[], settings: Partial<EtcdSettings> = {}, key = 'k') {
  const etcd = await open(endpoints, settings);
  const startedAt = performance.now();
  const error: unknown = await etcd.list({ key }).then(
    () => null,
    (reason) => reason,
  );
  if (!(error instanceof LbctlError)) throw new Error(`the read did not fail as it should: ${String(error)}`);
  return { error, ms: performance.now() - startedAt };
}

const toEndpoint = (url: string) => url.replace(/^https?:\/\//, '');

describe('nobody there', () => {
  test('a refused connection is told at once, with the endpoint and a remedy', async () => {
    const port = await startSilentPort();
    await port.close();
    const { error, ms } = await failureOf(port.address);
    expect(error).toMatchObject({ code: 'ETCD_UNREACHABLE' });
    expect(error.message).toBe(`Could not list "k": ${port.address} refused the connection`);
    const everything = await failureOf(port.address, {}, '\0');
    expect(everything.error.message).toBe(`Could not list all keys: ${port.address} refused the connection`);
    expect(error.suggestions[0]).toContain(`etcdctl --endpoints http://${port.address} endpoint health`);
    expect(ms).toBeLessThan(1000);
  });

  test('a port that says nothing is given up after the dial timeout', async () => {
    const port = await startSilentPort();
    const { error, ms } = await failureOf(port.address, { dialTimeoutMs: 700 });
    expect(error).toMatchObject({ code: 'ETCD_TIMEOUT' });
    expect(error.message).toContain(`${port.address} did not answer within 700ms`);
    expect(ms).toBeGreaterThan(650);
    expect(ms).toBeLessThan(1500);
    await port.close();
  });

  test('a name that nobody knows, and a server that is no etcd', async () => {
    const { error } = await failureOf('no-such-host.invalid:2379');
    expect(error).toMatchObject({
      code: 'ETCD_UNREACHABLE',
      message: expect.stringContaining('could not be resolved'),
    });
    const web = createServer((_, response) => response.end('hello'));
    await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
    const address = web.address();
    const port = typeof address === 'object' ? address?.port : 0;
    expect((await failureOf(`127.0.0.1:${port}`, { dialTimeoutMs: 500 })).error.code).toMatch(
      /ETCD_(UNREACHABLE|TIMEOUT)/,
    );
    web.closeAllConnections();
    web.close();
  });

  test('with several endpoints the message names each', async () => {
    const [silent, gone] = await Promise.all([startSilentPort(), startSilentPort()]);
    await gone.close();
    const { error } = await failureOf([silent.address, gone.address], { dialTimeoutMs: 300 });
    expect(error.message).toContain(`${silent.address} did not answer within 300ms`);
    expect(error.message).toContain(`${gone.address} refused the connection`);
    await silent.close();
  });
});

describe('one healthy endpoint', () => {
  let server: EtcdProcess;
  beforeAll(async () => {
    server = await startEtcd();
  });
  afterAll(() => server.stop());

  test('is found beside a silent and a dead one', async () => {
    const [silent, gone] = await Promise.all([startSilentPort(), startSilentPort()]);
    await gone.close();
    const etcd = await open([silent.address, gone.address, server.endpoint], { dialTimeoutMs: 300 });
    await etcd.txn({ success: [{ put: 'found', value: 'v' }] });
    expect((await etcd.list({ key: 'found' })).kvs).toHaveLength(1);
    await silent.close();
  });

  test('a write whose answer is lost has an unknown outcome, and is not sent twice', async () => {
    const proxy = await startProxy(server.port);
    const etcd = await open(proxy.address);
    await etcd.list({ key: 'k' });
    proxy.loseAnswers();
    const lost = etcd.txn({ success: [{ put: 'once', value: 'v' }] });
    await vi.waitUntil(async () => (await etcdctl(server.endpoint, 'get', 'once')) !== '', { timeout: 5000 });
    proxy.heal();
    proxy.cut();
    await expect(lost).rejects.toMatchObject({
      code: 'ETCD_OUTCOME_UNKNOWN',
      message: expect.stringContaining('"once"'),
    });
    expect((await etcd.list({ key: 'once' })).kvs).toMatchObject([{ version: 1n }]);
  });

  test('an idempotent write whose answer is lost is sent again, and succeeds', async () => {
    const proxy = await startProxy(server.port);
    const etcd = await open(proxy.address);
    await etcd.list({ key: 'k' });
    proxy.loseAnswers();
    const write = etcd.txn({ success: [{ put: 'twice', value: 'v' }] }, { idempotent: true });
    await vi.waitUntil(async () => (await etcdctl(server.endpoint, 'get', 'twice')) !== '', { timeout: 5000 });
    proxy.heal();
    proxy.cut();
    expect((await write).succeeded).toBe(true);
    expect((await etcd.list({ key: 'twice' })).kvs).toMatchObject([{ version: 2n }]);
  });

  test('a lease whose grant lost its answer is recognised when it is granted again', async () => {
    const proxy = await startProxy(server.port);
    const etcd = await open(proxy.address);
    await etcd.list({ key: 'k' });
    const before = (await etcdctl(server.endpoint, 'lease', 'list')).match(/\n/g)?.length ?? 0;
    proxy.loseAnswers();
    const granting = etcd.grantLease(60);
    const count = async () => (await etcdctl(server.endpoint, 'lease', 'list')).match(/\n/g)?.length ?? 0;
    await vi.waitUntil(async () => (await count()) > before, { timeout: 5000 });
    proxy.heal();
    proxy.cut();
    expect(await etcd.leaseInfo(await granting)).toMatchObject({ grantedSeconds: 60 });
    expect((await count()) - before).toBe(1);
  });

  test('a call that is called off ends at once', async () => {
    const proxy = await startProxy(server.port);
    const etcd = await open(proxy.address);
    await etcd.list({ key: 'k' });
    proxy.loseAnswers();
    const abort = new AbortController();
    const read = etcd.list({ key: 'k' }, { signal: abort.signal });
    const write = etcd.txn({ success: [{ put: 'off', value: 'v' }] }, { signal: abort.signal });
    await vi.waitUntil(async () => (await etcdctl(server.endpoint, 'get', 'off')) !== '', { timeout: 5000 });
    abort.abort();
    await expect(read).rejects.toMatchObject({ code: 'TIMEOUT' });
    await expect(write).rejects.toMatchObject({ code: 'ETCD_OUTCOME_UNKNOWN' });
  });
});

test('a call outlives a restart of etcd when the connection worked before', async () => {
  const server = await startEtcd();
  const etcd = await open(server.endpoint);
  await etcd.txn({ success: [{ put: 'k', value: 'v' }] });
  await server.kill();
  const read = etcd.list({ key: 'k' }, { timeoutMs: 15_000 });
  await server.restart();
  expect((await read).kvs).toHaveLength(1);
  await server.kill();
  const { code } = await etcd.list({ key: 'k' }, { timeoutMs: 2000 }).catch((error) => error);
  expect(code).toBe('ETCD_UNREACHABLE');
  await server.stop();
});

describe('TLS', () => {
  let certificates: Certificates;
  let plain: EtcdProcess;
  let tls: EtcdProcess;
  let mutual: EtcdProcess;
  let otherName: EtcdProcess;
  const ca = () => readFileSync(certificates.ca);

  beforeAll(async () => {
    certificates = await makeCertificates();
    const { ca: caFile, server, otherName: other } = certificates;
    [plain, tls, mutual, otherName] = await Promise.all([
      startEtcd(),
      startEtcd({ tls: { ca: caFile, ...server } }),
      startEtcd({ tls: { ca: caFile, ...server, requireClientCert: true } }),
      startEtcd({ tls: { ca: caFile, ...other } }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([plain, tls, mutual, otherName].map((server) => server.stop()));
    certificates.remove();
  });

  test('works with a CA alone, with a client certificate, and unverified on request', async () => {
    const ways: [string, EtcdSettings['tls']][] = [
      [tls.endpoint, { ca: ca() }],
      [toEndpoint(tls.endpoint), { ca: ca() }],
      [mutual.endpoint, { ca: ca(), ...readPair(certificates.client) }],
      [otherName.endpoint, { skipVerify: true }],
    ];
    for (const [endpoint, settings] of ways) {
      const etcd = await open(endpoint, settings ? { tls: settings } : {});
      expect((await etcd.list({ key: 'k' })).kvs).toEqual([]);
    }
  });

  test.each([
    [
      'a wrong CA',
      () => failureOf(tls.endpoint, { tls: { ca: readFileSync(certificates.otherCa) } }),
      'not signed by a CA',
      '--cacert',
    ],
    ['no CA', () => failureOf(tls.endpoint), 'not signed by a CA', '--cacert'],
    ['another name', () => failureOf(otherName.endpoint, { tls: { ca: ca() } }), 'for another name', '--endpoints'],
    ['no client certificate', () => failureOf(mutual.endpoint, { tls: { ca: ca() } }), 'client certificate', '--cert'],
    [
      'a client certificate of another CA',
      () => failureOf(mutual.endpoint, { tls: { ca: ca(), ...readPair(certificates.strangerClient) } }),
      'client certificate',
      '--cert',
    ],
    [
      'TLS to a plain port',
      () => failureOf(toEndpoint(plain.endpoint), { tls: { ca: ca() } }),
      'does not speak TLS',
      'http://',
    ],
    // grpc-js now and then keeps the reason of a broken handshake to itself ("Connection dropped").
  ])('%s is a certificate error that says what to do', { retry: 3 }, async (_, fail, message, remedy) => {
    const { error, ms } = await fail();
    expect(error).toMatchObject({ code: 'ETCD_CERTIFICATE' });
    expect(error.message).toContain(message);
    expect(error.suggestions.join('\n')).toContain(remedy);
    expect(ms).toBeLessThan(3000);
  });

  test('a TLS port spoken to in plain hints at TLS', async () => {
    const { error } = await failureOf(toEndpoint(tls.endpoint));
    expect(error).toMatchObject({ code: 'ETCD_UNREACHABLE' });
    expect(error.suggestions[0]).toContain('https://');
  });

  test('a certificate file that is none is refused before anything is dialled', async () => {
    const settings = { tls: { cert: Buffer.from('x'), key: Buffer.from('y') } };
    await expect(open(tls.endpoint, settings)).rejects.toMatchObject({ code: 'ETCD_CERTIFICATE' });
  });
});

describe('accounts', () => {
  let server: EtcdProcess;
  let open3: EtcdProcess;
  const ann = { user: 'ann', password: 'pw' };

  beforeAll(async () => {
    [server, open3] = await Promise.all([startEtcd({ authTokenTtlSeconds: 1 }), startEtcd()]);
    await enableAuth(server.endpoint, { name: 'ann', password: 'pw', prefix: 'a/' });
  });
  afterAll(() => Promise.all([server.stop(), open3.stop()]));

  test.each([
    [
      'a wrong password',
      () => failureOf(server.endpoint, { auth: { user: 'ann', password: 'no' } }),
      'ETCD_AUTH_FAILED',
      'did not accept the password of user ann',
    ],
    ['no account', () => failureOf(server.endpoint), 'ETCD_AUTH_FAILED', 'asks for a user and a password'],
    [
      'an account where none is needed',
      () => failureOf(open3.endpoint, { auth: ann }),
      'ETCD_AUTH_FAILED',
      'authentication is off',
    ],
    [
      'a key of others',
      () => failureOf(server.endpoint, { auth: ann }, 'b/1'),
      'ETCD_PERMISSION_DENIED',
      'user ann may not do that',
    ],
  ])('%s', async (_, fail, code, message) => {
    const { error } = await fail();
    expect(error).toMatchObject({ code });
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('pw');
    expect(error.suggestions.length).toBeGreaterThan(0);
  });

  test('a token that expired is fetched again, once for many calls', async () => {
    const etcd = await open(server.endpoint, { auth: ann });
    await etcd.txn({ success: [{ put: 'a/1', value: 'v' }] });
    const before = await authentications(server);
    // etcd forgets all simple tokens when it restarts, as when they expire.
    await server.restart();
    const lists = await Promise.all(Array.from({ length: 20 }, () => etcd.list({ key: 'a/1' })));
    expect(lists.map((list) => list.kvs.length)).toEqual(Array(20).fill(1));
    expect((await authentications(server)) - before).toBeLessThanOrEqual(1);
  });

  test('a watch and a lease go on while tokens expire, and a range of others is denied alone', async () => {
    const etcd = await open(server.endpoint, { auth: ann });
    const lost: string[] = [];
    const lease = await etcd.holdLease(2, { lost: (reason) => lost.push(reason) });
    await etcd.txn({ success: [{ put: 'a/leased', value: 'v', lease: lease.id }] });
    const { revision } = (await etcd.list({ key: 'a/1' })).header;
    const seen = record(etcd, [{ key: 'a/w' }, { key: 'b/w' }], revision);
    await vi.waitUntil(() => seen.states.includes('live') && seen.states.includes('denied:1'), { timeout: 5000 });
    expect(seen.errors).toMatchObject([{ code: 'ETCD_PERMISSION_DENIED', message: expect.stringContaining('"b/w"') }]);
    await vi.waitUntil(async () => (await etcd.leaseInfo(lease.id)).remainingSeconds >= 0);
    // The lease must outlive several tokens and its own TTL.
    const until = performance.now() + 4500;
    await vi.waitUntil(() => performance.now() > until, { timeout: 6000 });
    await etcd.txn({ success: [{ put: 'a/w', value: 'after' }] });
    await vi.waitUntil(() => seen.events.length === 1, { timeout: 3000 });
    expect((await etcd.list({ key: 'a/leased' })).kvs).toHaveLength(1);
    expect(lost).toEqual([]);
    await lease.revoke();
    expect((await etcd.list({ key: 'a/leased' })).kvs).toEqual([]);
  });
});

/** How many authenticate calls the running server has answered, from its metrics. */
async function authentications(server: EtcdProcess): Promise<number> {
  const text = await (await fetch(`${server.endpoint}/metrics`)).text();
  const line = text
    .split('\n')
    .find((each) => each.startsWith('grpc_server_started_total') && each.includes('"Authenticate"'));
  return Number(line?.split(' ').at(-1) ?? 0);
}
