import { Etcd3 } from 'etcd3';
import { afterEach, expect, test } from 'vitest';
import { isLbctlError } from '../../src/core/model/errors.js';
import { type EmbeddedEtcd, startEmbedded } from '../../src/embedded/server.js';

const closers: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function start(listen?: string): Promise<EmbeddedEtcd> {
  const server = await startEmbedded(listen === undefined ? {} : { listen });
  closers.push(() => server.close());
  return server;
}

function clientOf({ endpoint }: EmbeddedEtcd): Etcd3 {
  const client = new Etcd3({ hosts: endpoint });
  closers.push(() => client.close());
  return client;
}

test('listens on a free loopback port unless told otherwise', async () => {
  const [first, second] = [await start(), await start()];
  expect(first.endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(second.endpoint).not.toBe(first.endpoint);
});

test.each(['127.0.0.1', 'localhost:x', ':80', '::1:80', '127.0.0.1:70000', ''])(
  '"%s" is no address to listen on',
  async (listen) => {
    const error = await startEmbedded({ listen }).catch((reason: unknown) => reason);
    expect(isLbctlError(error, 'USAGE')).toBe(true);
  },
);

test('a port in use is named in the error', async () => {
  const { endpoint } = await start();
  const listen = endpoint.replace('http://', '');
  const error = await startEmbedded({ listen }).catch((reason: unknown) => reason);
  expect(isLbctlError(error, 'USAGE')).toBe(true);
  expect(String(error)).toContain(`address already in use ${listen}`);
});

test('close ends open streams at once, frees the port, and may be called twice', async () => {
  const server = await start();
  const client = clientOf(server);
  const watch = await client.watchClient.watch();
  const broken = new Promise<Error>((resolve) => {
    watch.on('error', resolve);
  });
  await new Promise<void>((resolve) => {
    watch.on('data', () => resolve());
    watch.write({ create_request: { key: Buffer.from('a') } });
  });
  await server.close();
  expect((await broken).message).toBe('14 UNAVAILABLE: etcdserver: server stopped');
  await server.close();
  expect((await start(server.endpoint.replace('http://', ''))).endpoint).toBe(server.endpoint);
});

test('every start is another cluster, empty: that is how clients notice that all was lost', async () => {
  const header = async (server: EmbeddedEtcd) => (await clientOf(server).kv.range({ key: Buffer.from('a') })).header;
  const [first, second] = [await header(await start()), await header(await start())];
  expect(second.cluster_id).not.toBe(first.cluster_id);
  expect([first.revision, second.revision]).toEqual(['1', '1']);
});
