import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { connect } from '../../src/core/etcd/connection.js';
import type { Etcd } from '../../src/core/etcd/port.js';
import { run, start } from '../support/cli.js';
import { type EtcdProcess, etcdctl, startEtcd } from '../support/etcd-process.js';

// Servers that lbctl did not register, as keys on leases of a real etcd: what they do themselves is for test/interop.
let server: EtcdProcess;
let etcd: Etcd;
let service = '';
let count = 0;

beforeAll(async () => {
  server = await startEtcd();
  etcd = await connect({ endpoints: [server.endpoint] });
});
afterAll(async () => {
  await etcd.close();
  await server.stop();
});
beforeEach(async () => {
  service = `foreign-${++count}.rpc`;
  for (const id of [1, 2, 3]) await registerAs(id);
});

async function registerAs(id: number, host = id): Promise<bigint> {
  const lease = await etcd.grantLease(600);
  await etcd.txn({ success: [{ put: `${service}/${id}`, value: `10.0.0.${host}:80`, lease }] });
  return lease;
}

function lbctl(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return run(args, { env: { LBCTL_ENDPOINTS: server.endpoint, ...env } });
}

async function value(id: number): Promise<string> {
  return (await etcdctl(server.endpoint, 'get', '--print-value-only', `${service}/${id}`)).trim();
}

test('mask and resume: value, lease and log are exactly what an operator reads with etcdctl', async () => {
  const before = (await etcd.list({ key: `${service}/1` })).kvs[0];
  const args = [service, '1', '--strategy', 'mask', '--verify', '200ms', '--reason', 'deploy \u001b[2J42'];
  const paused = await lbctl(['pause', ...args, '--json']);
  expect(paused.code).toBe(0);
  expect(JSON.parse(paused.stdout)).toMatchObject({
    outcome: 'done',
    instances: [{ address: '10.0.0.1:80', state: 'paused', strategy: 'mask', why: expect.stringContaining('v1.10.2') }],
  });
  expect(JSON.parse(paused.stderr).message).toContain('10.0.0.1:80: strategy mask: a go-zero server');
  expect(await value(1)).toBe('lbctl-paused:10.0.0.1:80');
  expect((await lbctl(['list', service, '-o', 'address'])).stdout).toBe('10.0.0.2:80\n10.0.0.3:80\n');
  expect((await lbctl(['resume', service, '10.0.0.1:80'])).code).toBe(0);
  expect((await etcd.list({ key: `${service}/1` })).kvs[0]).toMatchObject({
    value: before?.value,
    lease: before?.lease,
    createRevision: before?.createRevision,
  });
  const log = (await lbctl(['log', service])).stdout;
  expect(log).toMatch(/pause\s+paused\s+mask\s+10\.0\.0\.1:80\s+deploy \\x1b\[2J42\n.*resume\s+resumed\s+mask/);
});

test('LBCTL_STRATEGY answers for a fleet what auto refuses to guess', async () => {
  expect(await lbctl(['pause', service, '1', '--dry-run'])).toMatchObject({ code: 7, stdout: '' });
  const env = { LBCTL_STRATEGY: 'delete' };
  const plan = await lbctl(['pause', service, '1', '--dry-run', '--json'], env);
  expect(JSON.parse(plan.stdout)).toMatchObject({ outcome: 'planned', instances: [{ strategy: 'delete' }] });
  expect(await value(1)).toBe('10.0.0.1:80');
  expect((await lbctl(['pause', service, '1', '--verify', '200ms'], env)).code).toBe(0);
  expect(await value(1)).toBe('');
  expect((await lbctl(['resume', service, '1'])).code).toBe(0);
  expect(await value(1)).toBe('10.0.0.1:80');
  expect((await lbctl(['pause', service, '1'], { LBCTL_STRATEGY: 'maske' })).code).toBe(2);
});

test('an owner that puts its key back within --verify is exit 7, and shown as CAME-BACK', async () => {
  const lease = (await etcd.list({ key: `${service}/1` })).kvs[0]?.lease ?? 0n;
  const pausing = start(['pause', service, '1', '--strategy', 'delete', '--verify', '20s', '--json'], {
    env: { LBCTL_ENDPOINTS: server.endpoint },
  });
  await expect.poll(() => value(1), { timeout: 10_000 }).toBe('');
  await etcd.txn({ success: [{ put: `${service}/1`, value: '10.0.0.1:80', lease }] });
  const { code, stdout, stderr } = await pausing.ended;
  expect(code).toBe(7);
  expect(JSON.parse(stdout).instances).toMatchObject([{ address: '10.0.0.1:80', state: 'up' }]);
  expect(JSON.parse(stderr.slice(stderr.indexOf('\n') + 1)).error).toMatchObject({
    code: 'OWNER_REREGISTERED',
    exitCode: 7,
  });
  expect((await lbctl(['list', service])).stdout).toMatch(/10\.0\.0\.1:80 .*CAME-BACK/);
  expect((await lbctl(['resume', service, '1'])).code).toBe(0);
  expect((await lbctl(['list', service])).stdout).not.toContain('CAME-BACK');
});

test('--hold takes out again what comes back, says so, and resumes at Ctrl-C', async () => {
  const hold = start(['pause', service, '1', '--strategy', 'mask', '--hold'], {
    env: { LBCTL_ENDPOINTS: server.endpoint },
  });
  await hold.waitFor('Holding', { stream: 'stderr' });
  await etcd.txn({ success: [{ delete: { key: `${service}/1` } }] });
  await registerAs(9, 1);
  await expect.poll(() => value(9), { timeout: 2000, interval: 20 }).toBe('lbctl-paused:10.0.0.1:80');
  await hold.waitFor('10.0.0.1:80 came back and was taken out again (mask)', { stream: 'stderr' });
  hold.child.kill('SIGINT');
  expect((await hold.ended).code).toBe(130);
  expect(await value(9)).toBe('10.0.0.1:80');
});

test('says what it chose before it acts, and what it leaves behind at Ctrl-C', async () => {
  const args = ['pause', service, '1', '--strategy', 'mask', '--verify', '30s'];
  const pausing = start(args, { env: { LBCTL_ENDPOINTS: server.endpoint } });
  await pausing.waitFor('10.0.0.1:80: strategy mask: a go-zero server', { stream: 'stderr' });
  await expect.poll(() => value(1), { timeout: 10_000 }).toBe('lbctl-paused:10.0.0.1:80');
  pausing.child.kill('SIGINT');
  const { code, stdout, stderr } = await pausing.ended;
  expect(code).toBe(130);
  expect(stdout).toMatch(/10\.0\.0\.1:80 +paused +mask/);
  expect(stderr).toContain(`what was written stands: lbctl resume ${service} 10.0.0.1:80`);
  expect(await value(1)).toBe('lbctl-paused:10.0.0.1:80');
});

test('--for stays with what only it can put back', async () => {
  const args = ['pause', service, '1', '--strategy', 'mask', '--for', '1500ms', '--verify', '100ms'];
  const timed = start(args, { env: { LBCTL_ENDPOINTS: server.endpoint } });
  await timed.waitFor('Holding', { stream: 'stderr' });
  expect(await value(1)).toBe('lbctl-paused:10.0.0.1:80');
  expect((await timed.ended).code).toBe(0);
  expect(await value(1)).toBe('10.0.0.1:80');
});

test.each(['-1', '1.5', '101%', 'two', ''])('--min-available %j is refused with exit 2', async (minimum) => {
  const { code, stderr } = await lbctl(['pause', service, '1', `--min-available=${minimum}`, '--json']);
  expect({ code, error: JSON.parse(stderr).error.code }).toEqual({ code: 2, error: 'USAGE' });
});

test('the guard says what it has and what it needs, with a share and with a probe', async () => {
  const share = await lbctl(['pause', service, '1', '2', '--strategy', 'mask', '--min-available', '50%']);
  expect(share.code).toBe(5);
  expect(share.stderr).toMatch(/--min-available 50% of 3, which is 2 .* of 3 up 1 would be left.* 2 must stay/);
  // Nobody listens on these.
  const keys = [1, 2, 3].map((id) => ({ put: `${service}/${id}`, value: `127.0.0.1:${id}` }));
  await etcd.txn({ success: keys });
  const probe = await lbctl(['pause', service, '1', '--probe']);
  expect(probe.code).toBe(5);
  expect(probe.stderr).toContain('2 more are registered and do not answer');
});
