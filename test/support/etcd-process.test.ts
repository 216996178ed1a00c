import { readFileSync } from 'node:fs';
import { get } from 'node:https';
import { afterAll, expect, test } from 'vitest';
import { makeCertificates } from './certificates.js';
import { type EtcdProcess, enableAuth, etcdctl, startCluster, startEtcd } from './etcd-process.js';

const started: EtcdProcess[] = [];
afterAll(async () => {
  await Promise.all(started.map((server) => server.stop()));
});

test('a server keeps its data over a restart and loses it when wiped', async () => {
  const server = await startEtcd();
  started.push(server);
  await etcdctl(server.endpoint, 'put', 'k', 'v');
  const before = server.pid;
  await server.restart();
  expect(server.pid).not.toBe(before);
  expect(await etcdctl(server.endpoint, 'get', 'k')).toBe('k\nv\n');
  await server.restart({ wipe: true });
  expect(await etcdctl(server.endpoint, 'get', 'k')).toBe('');
});

test('three members form one cluster', async () => {
  const members = await startCluster(3);
  started.push(...members);
  await etcdctl(members[0]?.endpoint ?? '', 'put', 'k', 'v');
  expect(await etcdctl(members[2]?.endpoint ?? '', 'get', 'k')).toBe('k\nv\n');
});

test('with auth only the named user reaches its prefix', async () => {
  const server = await startEtcd();
  started.push(server);
  await enableAuth(server.endpoint, { name: 'ann', password: 'pw', prefix: 'a/' });
  await etcdctl(server.endpoint, '--user=ann:pw', 'put', 'a/1', 'v');
  await expect(etcdctl(server.endpoint, '--user=ann:pw', 'put', 'b/1', 'v')).rejects.toThrow('permission denied');
});

test('with TLS the server shows the certificate that was made for it', async () => {
  const certificates = await makeCertificates();
  const server = await startEtcd({ tls: { ca: certificates.ca, ...certificates.server } });
  started.push(server);
  const status = await new Promise((resolve, reject) => {
    get(`${server.endpoint}/health`, { ca: readFileSync(certificates.ca) }, (response) => {
      resolve(response.resume().statusCode);
    }).on('error', reject);
  });
  certificates.remove();
  expect(status).toBe(200);
});
