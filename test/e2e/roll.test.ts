import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { connect } from '../../src/core/etcd/connection.js';
import type { Etcd } from '../../src/core/etcd/port.js';
import { run, start } from '../support/cli.js';
import { type EtcdProcess, startEtcd } from '../support/etcd-process.js';
import { startService } from '../support/service-process.js';
import { until } from '../support/until.js';

const dir = mkdtempSync(join(tmpdir(), 'lbctl-roll-'));
const marks = join(dir, 'marks');
let server: EtcdProcess;
let etcd: Etcd;
let listeners: Server[] = [];
let addresses: string[] = [];
let number = 0;
let service = '';

beforeAll(async () => {
  server = await startEtcd();
  etcd = await connect({ endpoints: [server.endpoint] });
  // Servers that answer; their keys are permanent, so that a roll masks and unmasks them.
  listeners = await Promise.all(
    [1, 2, 3].map(async () => {
      const listener = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
      await once(listener, 'listening');
      return listener;
    }),
  );
  addresses = listeners
    .map((listener) => listener.address())
    .map((at) => `127.0.0.1:${typeof at === 'object' && at ? at.port : 0}`)
    .sort();
});
afterAll(async () => {
  for (const listener of listeners) listener.close();
  await etcd.close();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});
beforeEach(async () => {
  service = `roll-${number++}`;
  writeFileSync(marks, '');
  await etcd.txn({ success: addresses.map((value, id) => ({ put: `${service}/${id + 1}`, value })) });
});
afterEach(async () => {
  await etcd.txn({ success: [{ delete: { key: `${service}/`, end: `${service}0` } }] });
});

const options = () => ({ env: { LBCTL_ENDPOINTS: server.endpoint } });
/** Notes the instance, then does what the shell is told; `$1` is the address. */
const noting = (then: string) => [
  '--',
  'sh',
  '-c',
  `echo "$1 $2 $3" >> ${marks}; ${then}`,
  'sh',
  '{address}',
  '{host}:{port}',
  '{id}',
];
const roll = (...more: string[]) => ['roll', service, '--strategy', 'mask', '--verify', '0s', ...more];
const ran = () =>
  readFileSync(marks, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' ')[0]);
async function values(): Promise<string[]> {
  const { kvs } = await etcd.list({ key: `${service}/`, end: `${service}0` });
  return kvs.map(({ value }) => value.toString()).sort();
}
async function leftover(): Promise<string[]> {
  const found = await Promise.all(
    ['pause', 'roll'].map((kind) =>
      etcd.list({ key: `lbctl/v1/${kind}/${service}/`, end: `lbctl/v1/${kind}/${service}0` }),
    ),
  );
  return found.flatMap(({ kvs }) => kvs.map(({ key }) => key));
}

test('rolls each instance with its own values in the command; nothing is left', async () => {
  const { code, stdout, stderr } = await run([...roll('--json'), ...noting('true')], options());
  expect([code, stderr.includes('"error"')]).toEqual([0, false]);
  expect(JSON.parse(stdout)).toMatchObject({ schemaVersion: 1, service, outcome: 'done' });
  expect(JSON.parse(stdout).instances.map((one: { state: string }) => one.state)).toEqual(['up', 'up', 'up']);
  expect(readFileSync(marks, 'utf8')).toBe(
    addresses.map((address, id) => `${address} ${address} ${id + 1}\n`).join(''),
  );
  expect(await values()).toEqual(addresses);
  expect(await leftover()).toEqual([]);
});

test('stops at the first failure with 9, refuses another command with 5, goes on with the same, --restart begins anew', async () => {
  const allow = join(dir, 'allow');
  const command = noting(`test "$1" != ${addresses[1]} || test -e ${allow}`);
  const failed = await run([...roll(), ...command], options());
  expect(failed.code).toBe(9);
  expect(failed.stderr).toContain(`Rolled ${addresses[0]} of ${service}; then:`);
  expect(failed.stderr).toContain(`Not begun: ${addresses[2]}`);
  expect(failed.stdout).toContain('not begun');
  expect(await values()).toContain(`lbctl-paused:${addresses[1]}`);

  const other = await run([...roll('--json'), '--', 'true'], options());
  expect(other).toMatchObject({ code: 5, stdout: '' });
  expect(JSON.parse(other.stderr).error).toMatchObject({ code: 'GUARD_REFUSED' });

  writeFileSync(allow, '');
  const again = await run([...roll(), ...command], options());
  expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('1 done before') });
  expect(ran()).toEqual([addresses[0], addresses[1], addresses[1], addresses[2]]);
  expect(await values()).toEqual(addresses);

  const first = await run([...roll(), ...noting('exit 3')], options());
  expect(first.code).toBe(3);
  expect(await run([...roll('--restart'), '--', 'true'], options())).toMatchObject({ code: 0 });
  expect(await leftover()).toEqual([]);
});

test('never two operators at once; after kill -9 the same command line waits for the lock and goes on', async () => {
  const command = noting(`test "$1" != ${addresses[1]} || test "$(grep -c . ${marks})" -gt 2 || sleep 300`);
  const victim = start([...roll(), ...command], options());
  await until(() => ran().length === 2, 30_000, 'the second instance is being restarted');
  const second = await run([...roll(), ...command], options());
  expect(second.code).toBe(5);
  expect(second.stderr).toMatch(/is being rolled by \S+ \(process \d+ on \S+, since /);
  expect(ran()).toHaveLength(2);
  victim.kill();
  await victim.ended;
  const again = await run([...roll(), ...command], options());
  expect([again.code, again.stderr.includes('1 done before')]).toEqual([0, true]);
  expect(ran()).toEqual([addresses[0], addresses[1], addresses[1], addresses[2]]);
  expect(await values()).toEqual(addresses);
  expect(await leftover()).toEqual([]);
});

test('Ctrl-C says what is done and what is left, and the same command line goes on', async () => {
  const command = noting(`test "$1" != ${addresses[1]} || test "$(grep -c . ${marks})" -gt 2 || exec sleep 300`);
  const rolling = start([...roll(), ...command], options());
  await until(() => ran().length === 2, 30_000, 'the second instance is being restarted');
  rolling.child.kill('SIGINT');
  const { code, stderr } = await rolling.ended;
  expect(code).toBe(130);
  expect(stderr).toContain(`${addresses[1]}: interrupted; it is out of rotation, until its server registers anew`);
  expect(stderr).toContain(`${addresses[2]}: not begun.`);
  expect(stderr).toContain('The same command line goes on.');
  expect(await run([...roll(), ...command], options())).toMatchObject({ code: 0 });
  expect(await leftover()).toEqual([]);
});

test('without a command, or with --max-unavailable 0, it is a usage error', async () => {
  for (const args of [roll(), roll('--'), [...roll('--max-unavailable', '0'), '--', 'true']]) {
    expect(await run(args, options())).toMatchObject({ code: 2, stdout: '' });
  }
});

test('real services under lbctl register: each is another process afterwards', async () => {
  const own = `${service}-own`;
  const fleet = await Promise.all([1, 2].map(() => startService(server.endpoint, own)));
  try {
    const inRotation = async () => (await etcd.list({ key: `${own}/`, end: `${own}0` })).kvs.length;
    await until(async () => (await inRotation()) === 2, 30_000, 'two instances in rotation');
    const before = fleet.map(({ pid }) => pid);
    const script = fleet.map(({ address, restart }) => `${address}) exec ${restart.join(' ')};;`).join(' ');
    const args = ['roll', own, '--grace', '300ms', '--', 'sh', '-c', `case $LBCTL_ADDRESS in ${script} esac`];
    expect(await run(args, options())).toMatchObject({ code: 0 });
    expect(await inRotation()).toBe(2);
    expect(fleet.filter(({ pid }, index) => pid === before[index])).toEqual([]);
  } finally {
    await Promise.all(fleet.map((one) => one.close()));
  }
});
