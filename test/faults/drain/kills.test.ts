/** kill -9 of the drain itself, at random moments: whatever it left, the same command line ends in the asked state. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run, start } from '../../support/cli.js';
import { type EtcdProcess, startEtcd } from '../../support/etcd-process.js';
import { openTruth, type Truth } from '../../support/etcd-truth.js';
import { rounds } from '../../support/rounds.js';
import { pause } from '../fleet.js';

const kills = rounds(10, 50);
const atOnce = 5;

let etcd: EtcdProcess;
let truth: Truth;
let server: Server;
let address = '';

beforeAll(async () => {
  etcd = await startEtcd();
  truth = openTruth(etcd.endpoint);
  // What the health check of a drain with a command asks: a port that answers.
  server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  address = `127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`;
});
afterAll(async () => {
  truth.close();
  server.close();
  await etcd.stop();
});

/** What stands there of the instance, read until nothing changes in between: its value, and whether a pause is on record. */
async function state(service: string): Promise<{ value: string; recorded: boolean }> {
  for (;;) {
    const before = await truth.revision();
    const [key] = await truth.keys(`${service}/1`);
    const records = await truth.keys(`lbctl/v1/pause/${service}/`);
    if ((await truth.revision()) === before)
      return { value: key?.value.toString() ?? '', recorded: records.length > 0 };
  }
}

async function killed(service: string, command: readonly string[], strategy: string): Promise<void> {
  await truth.put(`${service}/1`, address);
  await truth.put(`${service}/2`, '10.0.0.2:80');
  const args = ['drain', service, '1', '--strategy', strategy, '--verify', '100ms', '--endpoints', etcd.endpoint];
  const line = [...args, '--grace', '100ms', '--timeout', '20s', ...command];
  const first = start(line);
  const quiet = first.waitFor(/./, { stream: 'stderr' }).catch(() => null);
  // From before its first write to after its last: most of a drain's life is its start.
  await Promise.race([quiet, pause(Math.random() * 4000)]);
  await pause(Math.random() * 600);
  first.kill();
  await first.ended;
  const left = await state(service);
  const isOut = left.value !== address;
  expect(isOut, `out of rotation, a record of it: ${JSON.stringify(left)}`).toBe(left.recorded);
  const { code, stderr } = await run(line);
  expect(code, stderr).toBe(0);
  const end = await state(service);
  if (command.length > 0) expect(end).toEqual({ value: address, recorded: false });
  else expect(end).toEqual({ value: strategy === 'mask' ? `lbctl-paused:${address}` : '', recorded: true });
}

test(`killed ${kills} times, run again ${kills} times: the asked state each time, nothing half paused without a record`, async () => {
  for (let from = 0; from < kills; from += atOnce) {
    const all = Array.from({ length: atOnce }, (_, i) => {
      const number = from + i;
      const command = number % 3 === 0 ? ['--', 'sh', '-c', 'sleep 0.3'] : [];
      return killed(`kill-${number}`, command, number % 2 === 0 ? 'mask' : 'delete');
    });
    await Promise.all(all);
  }
}, 300_000);
