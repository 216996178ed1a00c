import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { connect as connectEtcd } from '../../src/core/etcd/connection.js';
import type { Etcd } from '../../src/core/etcd/port.js';
import { resumeInstances } from '../../src/core/operations/resume.js';
import { run, start } from '../support/cli.js';
import { type EtcdProcess, startEtcd } from '../support/etcd-process.js';
import { isAlive } from '../support/is-alive.js';
import { type ServiceProcess, startService } from '../support/service-process.js';
import { until } from '../support/until.js';

// Each test runs a dozen processes.
vi.setConfig({ testTimeout: 120_000 });

const service = 'user.rpc';
const dir = mkdtempSync(join(tmpdir(), 'lbctl-drain-'));
let server: EtcdProcess;
let etcd: Etcd;
let fleet: ServiceProcess[] = [];

beforeAll(async () => {
  server = await startEtcd();
  etcd = await connectEtcd({ endpoints: [server.endpoint] });
  fleet = await Promise.all([1, 2].map(() => startService(server.endpoint, service)));
  await until(async () => (await up()).length === 2, 50_000, 'two instances in rotation');
});
afterAll(async () => {
  await Promise.all(fleet.map((one) => one.close()));
  await etcd.close();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
});
// Two services are six processes: they serve all tests, each of which leaves them running.
afterEach(async () => {
  await resumeInstances(etcd, { service, selectors: [], all: true, by: 'test' });
  await until(async () => (await up()).length === 2, 40_000, 'two instances in rotation again');
});

const options = () => ({ env: { LBCTL_ENDPOINTS: server.endpoint } });
function lbctl(...args: string[]) {
  return run(args, options());
}
async function up(): Promise<string[]> {
  return (await etcd.list({ key: `${service}/`, end: `${service}0` })).kvs.map(({ value }) => value.toString());
}
async function keys(prefix: string): Promise<string[]> {
  return (await etcd.list({ key: prefix, end: `${prefix}\uffff` })).kvs.map(({ key }) => key);
}
function first(): ServiceProcess {
  const [one] = fleet;
  if (!one) throw new Error('no fleet');
  return one;
}
function progressOf(stderr: string): Record<string, unknown>[] {
  return stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('drains, restarts and resumes a real service; all of stderr is JSON, stdout is the document', async () => {
  const one = first();
  const { pid } = one;
  const drained = await lbctl('drain', service, one.address, '--json', '--', ...one.restart);
  expect(drained.code).toBe(0);
  expect(JSON.parse(drained.stdout)).toMatchObject({
    schemaVersion: 1,
    service,
    outcome: 'done',
    instances: [{ address: one.address, state: 'up', strategy: 'managed' }],
  });
  const met = progressOf(drained.stderr).filter(({ state }) => state === 'met');
  expect(met.map(({ condition }) => condition)).toEqual(
    expect.arrayContaining(['out', 'observers', 'command', 'back', 'healthy', 'resumed']),
  );
  expect(met[0]).toMatchObject({ schemaVersion: 1, type: 'progress', address: one.address, condition: 'out' });
  expect(one.pid).not.toBe(pid);
  expect(await up()).toHaveLength(2);
  expect(await keys('lbctl/v1/pause/')).toEqual([]);
});

test('without a command it stays out, and a second drain joins; the guard refuses the last one with 5', async () => {
  const one = first();
  const drained = await lbctl('drain', service, one.address);
  expect(drained).toMatchObject({ code: 0, stderr: expect.stringContaining(`lbctl resume ${service} ${one.address}`) });
  expect(drained.stdout).toMatch(/paused .* drained/);
  expect(await up()).toEqual([fleet[1]?.address]);
  expect(await lbctl('drain', service, one.address)).toMatchObject({ code: 0 });
  for (const json of [[], ['--json']]) {
    const refused = await lbctl('drain', service, '127.0.0.1:1', ...json);
    expect(refused.code).toBe(3);
    const last = await lbctl('drain', service, fleet[1]?.address ?? '', ...json);
    expect(last).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('1 must stay') });
  }
  expect(await up()).toEqual([fleet[1]?.address]);
});

test('--until-idle waits for a real connection; 124 names it, and --on-failure resume puts it back', async () => {
  const one = first();
  const client = connect(one.port, '127.0.0.1');
  await new Promise<void>((resolve) => client.once('connect', () => resolve()));
  const late = await lbctl('drain', service, one.address, '--until-idle', '--timeout', '1s', '--json');
  expect(late.code).toBe(124);
  expect(JSON.parse(late.stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
    error: { code: 'TIMEOUT', exitCode: 124, message: expect.stringContaining('idle (1 established connection)') },
  });
  expect(JSON.parse(late.stdout)).toMatchObject({ outcome: 'failed', instances: [{ state: 'paused' }] });
  expect(await up()).toHaveLength(1);
  const again = await lbctl(
    ...['drain', service, one.address, '--until-idle', '--timeout', '1s', '--on-failure', 'resume'],
  );
  expect(again).toMatchObject({ code: 124, stderr: expect.stringContaining('it is in rotation') });
  expect(await up()).toHaveLength(2);
  const waiting = start(['drain', service, one.address, '--until-idle'], options());
  await waiting.waitFor('idle       waiting: 1 established connection', { stream: 'stderr' });
  client.destroy();
  expect(await waiting.ended).toMatchObject({ code: 0 });
});

test('a command that is killed gives the code of its signal; the instance stays out', async () => {
  const one = first();
  const failed = await lbctl('drain', service, one.address, '--', 'sh', '-c', 'kill -9 $$');
  expect(failed).toMatchObject({ code: 137, stderr: expect.stringContaining('it stays out of rotation') });
  expect(await up()).toHaveLength(1);
  const usage = await lbctl('drain', service, one.address, '--');
  expect(usage).toMatchObject({ code: 2, stderr: expect.stringContaining('missing after --') });
});

test('the command is told which instance; its stdout does not spoil the document; what it leaves running runs on', async () => {
  const one = first();
  const left = join(dir, 'left.pid');
  const script = `echo "$LBCTL_SERVICE $LBCTL_ADDRESS $LBCTL_HOST $LBCTL_PORT"; sleep 300 >/dev/null 2>&1 & echo $! > ${left}`;
  const drained = await lbctl('drain', service, one.address, '-o', 'yaml', '--', 'sh', '-c', script);
  expect(drained.code).toBe(0);
  expect(drained.stderr).toContain(`${service} ${one.address} 127.0.0.1 ${one.port}\n`);
  expect(drained.stdout).not.toContain('LBCTL');
  expect(drained.stdout).toMatch(/^schemaVersion: 1\n/);
  const pid = Number(readFileSync(left, 'utf8'));
  expect(isAlive(pid)).toBe(true);
  process.kill(pid, 'SIGKILL');
});

test('an instance that does not come back healthy is a failed check, 6, and stays out', async () => {
  const one = first();
  const failed = await lbctl('drain', service, one.address, '--timeout', '2s', '--', ...one.stop);
  expect(failed).toMatchObject({ code: 6, stderr: expect.stringContaining('did not become healthy within 2s') });
  expect(await keys('lbctl/v1/pause/')).toHaveLength(1);
  // The same command line goes on: this time the restart works.
  expect(await lbctl('drain', service, one.address, '--', ...one.restart)).toMatchObject({ code: 0 });
  expect(await up()).toHaveLength(2);
});

test('Ctrl-C ends the command, keeps the instance out and says so', async () => {
  const one = first();
  const pidFile = join(dir, 'interrupted.pid');
  const args = ['drain', service, one.address, '--', 'sh', '-c', `echo $$ > ${pidFile}; exec sleep 300`];
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const draining = start(args, options());
    await draining.waitFor('command    waiting', { stream: 'stderr' });
    await until(() => Number(readFileSync(pidFile, 'utf8')) > 0, 5000);
    const pid = Number(readFileSync(pidFile, 'utf8'));
    draining.child.kill(signal);
    const ended = await draining.ended;
    expect(ended.code).toBe(code);
    expect(ended.stderr).toContain(`${one.address}: interrupted; it stays out of rotation.`);
    expect(ended.stderr).toContain(`lbctl resume ${service} ${one.address} puts back what is out.`);
    expect(isAlive(pid)).toBe(false);
    expect(await keys('lbctl/v1/drain/')).toEqual([]);
    rmSync(pidFile);
  }
  expect(await up()).toHaveLength(1);
});

test('two drains at once: the command runs once, both succeed', async () => {
  const one = first();
  const marks = join(dir, 'marks');
  writeFileSync(marks, '');
  const command = ['sh', '-c', `echo ran >> ${marks}; sleep 1; exec "$@"`, 'sh', ...one.restart];
  const ended = await Promise.all([1, 2].map(() => lbctl('drain', service, one.address, '--json', '--', ...command)));
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  expect(ended.map(({ stdout }) => JSON.parse(stdout).outcome).sort()).toEqual(['done', 'joined']);
  expect(readFileSync(marks, 'utf8')).toBe('ran\n');
  expect(await up()).toHaveLength(2);
});

test('kill -9 while its command runs, and the same command line again ends in the asked state', async () => {
  const one = first();
  const command = ['sh', '-c', 'sleep 0.5; exec "$@"', 'sh', ...one.restart];
  const args = ['drain', service, one.address, '--grace', '500ms', '--', ...command];
  const victim = start(args, options());
  await victim.waitFor('command    waiting', { stream: 'stderr' });
  victim.kill();
  await victim.ended;
  expect((await lbctl(...args)).code).toBe(0);
  expect((await up()).length).toBe(2);
  expect(await keys('lbctl/v1/pause/')).toEqual([]);
});

test('etcd that dies while it waits: exit 4, unknown, never 0; a short outage is waited out', async () => {
  const one = first();
  const short = start(['drain', service, one.address, '--grace', '4s', '--command-timeout', '1s'], options());
  await short.waitFor('grace      waiting', { stream: 'stderr' });
  await server.restart();
  expect(await short.ended).toMatchObject({ code: 0 });
  const long = start(
    ['drain', service, one.address, '--grace', '20s', '--timeout', '5s', '--command-timeout', '1s', '--json'],
    options(),
  );
  await long.waitFor('"condition":"grace"', { stream: 'stderr' });
  server.suspend();
  const ended = await long.ended;
  server.resume();
  expect(ended.code).toBe(4);
  expect(JSON.parse(ended.stdout)).toMatchObject({ outcome: 'failed', instances: [{ state: 'unknown' }] });
  expect(ended.stderr).toMatch(/Unknown whether .* etcd has not answered for/);
});

test('--dry-run prints the plan and does nothing', async () => {
  const one = first();
  const planned = await lbctl(
    'drain',
    service,
    one.address,
    '--dry-run',
    '--grace',
    '5s',
    '--',
    'systemctl',
    'restart',
    'x',
  );
  expect(planned.code).toBe(0);
  expect(planned.stdout).toMatch(/wait for out, observers, grace \(5s\); then run systemctl restart x; .* resume it/);
  expect(await up()).toHaveLength(2);
});
