import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EtcdProcess, startEtcd } from '../support/etcd-process.js';

let etcd: EtcdProcess;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

/** The program of the README, with its own ending: what it prints, and that it ends by itself. */
const program = (library: string, endpoint: string) => `
import { connect, createBalancer, Publisher, Subscriber } from ${JSON.stringify(library)};
const etcd = await connect({ endpoints: [${JSON.stringify(endpoint)}] });
const owner = { host: 'here', pid: process.pid, version: '1.0.0' };
const publisher = new Publisher(etcd, { service: 'greet.rpc', address: '10.0.0.1:8080', owner, weight: 5 });
await publisher.start();
const subscriber = new Subscriber(etcd, 'greet.rpc');
await subscriber.start();
const balancer = createBalancer('weighted_round_robin');
subscriber.onChange(() => balancer.update(subscriber.instances()));
const picked = balancer.pick();
picked.done({ code: 0 });
console.log(picked.instance.address, picked.instance.weight);
await subscriber.close();
console.log(await publisher.stop());
await etcd.close();
`;

test('a program publishes itself, finds itself, picks itself, leaves nothing, and exits', async () => {
  const library = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
  const child = spawn(process.execPath, ['--input-type=module', '-e', program(library, etcd.endpoint)]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code] = await once(child, 'close');
  expect(output).toBe('10.0.0.1:8080 5\n{ released: true }\n');
  expect(code).toBe(0);
});
