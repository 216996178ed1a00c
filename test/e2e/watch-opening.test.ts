import { afterAll, beforeAll, expect, test } from 'vitest';
import { Publisher } from '../../src/core/discovery/publisher.js';
import { connect } from '../../src/core/etcd/connection.js';
import type { Etcd } from '../../src/core/etcd/port.js';
import { start } from '../support/cli.js';
import { type EtcdProcess, startEtcd } from '../support/etcd-process.js';

const owner = { host: 'test', pid: process.pid, version: '0' };
let server: EtcdProcess;
let etcd: Etcd;
beforeAll(async () => {
  server = await startEtcd();
  etcd = await connect({ endpoints: [server.endpoint] });
});
afterAll(async () => {
  await etcd?.close();
  await server?.stop();
});

/** etcd brings the ranges of a new stream up to date in turns of up to 100 ms; the embedded registry has no such turns. */
test('what is registered while a watch opens is told once, with its weight and owner', async () => {
  const watches = Array.from({ length: 3 }, () =>
    start(['watch', 'busy.rpc', '-o', 'json'], { env: { LBCTL_ENDPOINTS: server.endpoint } }),
  );
  let isOpen = false;
  const open = Promise.all(watches.map((watch) => watch.waitFor('"SYNCED"'))).then(() => {
    isOpen = true;
  });
  const publishers: Publisher[] = [];
  const registered: Promise<void>[] = [];
  // From before they open until 50 have come in the 300 ms after the last of them did.
  for (let after = 0; after < 50; after += isOpen ? 1 : 0) {
    const address = `10.0.0.${publishers.length}:80`;
    const publisher = new Publisher(etcd, { service: 'busy.rpc', address, owner, weight: 5 });
    publishers.push(publisher);
    registered.push(publisher.start());
    await new Promise((resolve) => setTimeout(resolve, 6));
  }
  await open;
  await Promise.all(registered);
  for (const watch of watches) {
    const told = () => lines(watch.stdout()).filter((line) => line.instance !== null);
    const addresses = () => new Set(told().map((line) => line.address)).size;
    await expect.poll(addresses, { timeout: 10_000 }).toBe(publishers.length);
    expect(told().filter(({ type }) => type !== 'SNAPSHOT' && type !== 'ADDED')).toEqual([]);
    expect(told()).toHaveLength(publishers.length);
    expect(told().filter(({ instance }) => instance?.weight !== 5 || instance.owner === null)).toEqual([]);
  }
  await Promise.all(publishers.map((publisher) => publisher.stop()));
});

interface Line {
  readonly type: string;
  readonly address: string | null;
  readonly instance: { readonly weight: number; readonly owner: object | null } | null;
}

function lines(stdout: string): Line[] {
  // The last line may be on its way still.
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}
