/**
 * Instances replaced one after the other under load, with the real `lbctl roll`: its command asks this process to replace a server,
 * which looks at what the server counted itself since its drain ended, ends it, and starts another at the same address.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Caller } from '../../src/core/grpc/calls/caller.js';
import { clientOptions } from '../../src/core/grpc/client/client-options.js';
import { systemClock } from '../../src/core/model/clock.js';
import { CallStatistics, runCalls } from '../../src/core/operations/call.js';
import { run } from '../support/cli.js';
import { type EtcdProcess, startEtcd } from '../support/etcd-process.js';
import { type ServerProcess, startServerProcess } from '../support/grpc-server-process.js';
import { rounds } from '../support/rounds.js';

const service = 'rolling.rpc';
const replacements = rounds(12, 30);
/** After this long an instance whose drain has ended gets no call any more. */
const quietAfterMs = 100;

let etcd: EtcdProcess;
let hostPort = '';
const servers = new Map<string, ServerProcess>();

beforeAll(async () => {
  etcd = await startEtcd();
  hostPort = etcd.endpoint.replace('http://', '');
});
afterAll(async () => {
  await Promise.all([...servers.values()].map((server) => server.stop()));
  await etcd.stop();
});

async function serve(port = 0): Promise<ServerProcess> {
  const server = await startServerProcess({
    port,
    latencyMs: 5,
    register: { etcd: hostPort, service, options: { ttlSeconds: 5 } },
  });
  servers.set(server.address, server);
  return server;
}

/** What the command of the roll asks: one line with an address; the answer is what is wrong, or `ok`. */
async function replacer(replace: (address: string) => Promise<string>) {
  const server = createServer((socket) => {
    createInterface({ input: socket }).once('line', async (address) => {
      socket.end(`${await replace(address).catch(String)}\n`);
    });
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return { port, close: () => server.close() };
}

const ask = `
const [port, address] = process.argv.slice(1);
const socket = require('node:net').connect(Number(port), '127.0.0.1', () => socket.write(address + '\\n'));
let answer = '';
socket.on('data', (data) => { answer += data; });
socket.on('close', () => { process.stderr.write(answer); process.exit(answer === 'ok\\n' ? 0 : 1); });
`;

test(`${replacements} replacements under 500 rps: no call fails, none comes ${quietAfterMs} ms after a drain ended`, async () => {
  for (let i = 0; i < 6; i++) await serve();
  const caller = new Caller({
    target: `etcd:///${hostPort}?key=${service}`,
    options: { ...clientOptions({ policy: 'p2c_ewma' }), 'grpc.use_local_subchannel_pool': 1 },
    method: { path: '/test.Echo/Say', request: Buffer.alloc(0), verdict: () => null, answers: [] },
    timeoutMs: 5000,
    metadata: [],
  });
  expect(await caller.isReady(5000)).toBe(true);
  const statistics = new CallStatistics();
  const ending = new AbortController();
  const plan = { count: null, durationMs: null, rps: 500, concurrency: 2000 };
  const over = runCalls(plan, () => caller.call(), statistics, { clock: systemClock, signal: ending.signal });

  let replaced = 0;
  const { port, close } = await replacer(async (address) => {
    const drainedAt = Date.now();
    const old = servers.get(address);
    if (!old) return `nobody is at ${address}`;
    await new Promise((resolve) => setTimeout(resolve, 3 * quietAfterMs));
    const { times } = await old.counts();
    const late = times.filter((at) => at > drainedAt + quietAfterMs);
    if (late.length > 0) return `${late.length} calls to ${address} after its drain ended`;
    if (times.length === 0) return `${address} never got a call`;
    await old.stop();
    await serve(old.port);
    replaced++;
    return 'ok';
  });
  for (let round = 0; round < replacements / 6; round++) {
    const command = [process.execPath, '-e', ask, String(port), '{address}'];
    const args = ['roll', service, '--max-unavailable', '3', '--min-available', '3', '--endpoints', hostPort];
    const { code, stderr } = await run([...args, '--', ...command], { timeoutMs: 120_000 });
    expect(code, stderr).toBe(0);
  }
  close();
  ending.abort();
  await over;
  caller.close();
  expect(replaced).toBe(replacements);
  expect(statistics.errors, statistics.lastFailure).toBe(0);
  expect(statistics.calls).toBeGreaterThan(1000);
}, 240_000);
