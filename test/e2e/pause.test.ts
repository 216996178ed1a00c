import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Publisher } from '../../src/core/discovery/publisher.js';
import { resumeInstances } from '../../src/core/operations/resume.js';
import { run, start } from '../support/cli.js';
import { type DevRegistry, startDevRegistry } from '../support/dev-registry.js';

let registry: DevRegistry;
let publishers: Publisher[] = [];

beforeAll(async () => {
  registry = await startDevRegistry();
});
afterAll(() => registry.close());

beforeEach(async () => {
  const owner = { host: 'test', pid: process.pid, version: '0' };
  publishers = ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80'].map(
    (address, index) => new Publisher(registry.etcd, { service: 'user.rpc', address, owner, id: String(index + 1) }),
  );
  await Promise.all(publishers.map((publisher) => publisher.start()));
});
afterEach(async () => {
  await resumeInstances(registry.etcd, { service: 'user.rpc', selectors: [], all: true, by: 'test' });
  await Promise.all(publishers.map((publisher) => publisher.stop()));
});

function lbctl(...args: string[]) {
  return run(args, { env: registry.env });
}

async function inRotation(): Promise<string[]> {
  return (await lbctl('list', 'user.rpc', '-o', 'address')).stdout.trim().split('\n');
}

test('pause and resume, each twice: done, then already so, exit 0', async () => {
  const outcomes: unknown[] = [];
  for (const verb of ['pause', 'pause', 'resume', 'resume']) {
    const { code, stdout } = await lbctl(verb, 'user.rpc', '10.0.0.1:80', '--json');
    const { schemaVersion, service, instances, outcome } = JSON.parse(stdout);
    outcomes.push([verb, code, outcome, instances[0].address, instances[0].state]);
    expect({ schemaVersion, service, count: instances.length }).toEqual({
      schemaVersion: 1,
      service: 'user.rpc',
      count: 1,
    });
    expect(await inRotation()).toEqual(
      verb === 'pause' ? ['10.0.0.2:80', '10.0.0.3:80'] : ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80'],
    );
  }
  expect(outcomes).toEqual([
    ['pause', 0, 'done', '10.0.0.1:80', 'paused'],
    ['pause', 0, 'already', '10.0.0.1:80', 'paused'],
    ['resume', 0, 'done', '10.0.0.1:80', 'up'],
    ['resume', 0, 'already', '10.0.0.1:80', 'up'],
  ]);
});

test('list shows who paused it, why, and until when', async () => {
  await lbctl('pause', 'user.rpc', '10.0.0.2:80', '--for', '15m', '--reason', 'kernel \u001b[31mupdate');
  const { instances } = JSON.parse((await lbctl('list', 'user.rpc', '--json')).stdout);
  expect(instances.map((entry: { admin: string }) => entry.admin)).toEqual(['up', 'paused', 'up']);
  expect(instances[1].pause).toMatchObject({ reason: 'kernel \u001b[31mupdate', strategy: 'managed', cameBack: false });
  expect(Date.parse(instances[1].pause.until) - Date.parse(instances[1].pause.at)).toBe(900_000);
  expect((await lbctl('list', 'user.rpc')).stdout).toMatch(
    /^10\.0\.0\.2:80 .* paused .* by \S+@\S+: kernel \\x1b\[31mupdate \(resumes in 1\dm/m,
  );
});

test('--for resumes by itself', async () => {
  expect((await lbctl('pause', 'user.rpc', '10.0.0.1:80', '--for', '2s')).code).toBe(0);
  await expect.poll(() => publishers[0]?.state, { timeout: 10_000 }).toBe('registered');
});

test('--hold keeps it out until Ctrl-C, which resumes it', async () => {
  const hold = start(['pause', 'user.rpc', '10.0.0.1:80', '--hold'], { env: registry.env });
  await hold.waitFor('Holding', { stream: 'stderr' });
  expect(await inRotation()).toEqual(['10.0.0.2:80', '10.0.0.3:80']);
  hold.child.kill('SIGINT');
  expect(await hold.ended).toMatchObject({ code: 130, stderr: expect.stringContaining('Resumed 10.0.0.1:80') });
  expect(await inRotation()).toHaveLength(3);
});

test('--hold takes back what it wrote when Ctrl-C comes before the owner has followed', async () => {
  const owner = start(['register', 'slow.rpc', '10.0.0.9:80', '--ttl', '60s'], { env: registry.env });
  await owner.waitFor('registered');
  owner.child.kill('SIGSTOP');
  const args = ['pause', 'slow.rpc', '10.0.0.9:80', '--hold', '--min-available', '0', '--timeout', '60s'];
  const hold = start(args, { env: registry.env });
  const record = { key: 'lbctl/v1/pause/slow.rpc/10.0.0.9:80' };
  await expect.poll(async () => (await registry.etcd.list(record)).kvs.length, { timeout: 10_000 }).toBe(1);
  hold.child.kill('SIGINT');
  expect(await hold.ended).toMatchObject({ code: 130, stdout: '', stderr: expect.stringContaining('Resumed') });
  expect((await registry.etcd.list(record)).kvs).toEqual([]);
  owner.child.kill('SIGCONT');
  owner.child.kill('SIGTERM');
  await owner.ended;
});

test('--hold resumes the others when one of them is gone, and says what stays paused when etcd is', async () => {
  const own = await startDevRegistry();
  const fleet = ['10.0.1.1:80', '10.0.1.2:80', '10.0.1.3:80'].map(
    (address) =>
      new Publisher(own.etcd, { service: 'h.rpc', address, owner: { host: 'test', pid: process.pid, version: '0' } }),
  );
  await Promise.all(fleet.map((publisher) => publisher.start()));
  const hold = () => start(['pause', 'h.rpc', '10.0.1.1:80', '10.0.1.2:80', '--hold'], { env: own.env });
  const first = hold();
  await first.waitFor('Holding', { stream: 'stderr' });
  await fleet[0]?.stop();
  await own.remove('lbctl/v1/pause/h.rpc/10.0.1.1:80');
  first.child.kill('SIGTERM');
  expect((await first.ended).code).toBe(143);
  await expect.poll(() => fleet[1]?.state).toBe('registered');

  const second = start(['pause', 'h.rpc', '10.0.1.2:80', '--hold'], { env: own.env });
  await second.waitFor('Holding', { stream: 'stderr' });
  await Promise.all(fleet.map((publisher) => publisher.stop()));
  await own.close();
  second.child.kill('SIGINT');
  const { code, stderr } = await second.ended;
  expect(code).toBe(4);
  expect(stderr).toMatch(/paused until it is: 10\.0\.1\.2:80 of h\.rpc/);
  expect(stderr).toContain('lbctl resume h.rpc 10.0.1.2:80');
});

test('the last one up is refused with exit 5, and let go with --min-available 0', async () => {
  const refused = await lbctl('pause', 'user.rpc', '--all');
  expect(refused).toMatchObject({ code: 5, stdout: '' });
  expect(refused.stderr).toContain('--min-available');
  expect(await inRotation()).toHaveLength(3);
  expect((await lbctl('pause', 'user.rpc', '--all', '--min-available', '0')).code).toBe(0);
  expect((await lbctl('list', 'user.rpc', '-o', 'address')).stdout).toBe('');
});

test('--dry-run shows the plan and changes nothing', async () => {
  const { code, stdout } = await lbctl('pause', 'user.rpc', '10.0.0.1:80', '--dry-run', '--json');
  expect({ code, outcome: JSON.parse(stdout).outcome }).toEqual({ code: 0, outcome: 'planned' });
  expect(await inRotation()).toHaveLength(3);
});

test.each([
  [['pause', 'user.rpc', '10.9.9.9:1'], 3, 'NOT_FOUND'],
  [['resume', 'nobody.rpc', 'x'], 3, 'NO_INSTANCE'],
  [['pause', 'user.rpc'], 2, 'USAGE'],
  [['pause', 'user.rpc', '10.0.0.1:80', '--for', 'soon'], 2, 'USAGE'],
  [['pause', 'user.rpc', '10.0.0.1:80', '--nope'], 2, 'USAGE'],
  [['pause', 'user.rpc', '10.0.0.1:80', '--for', '1m', '--hold'], 2, 'USAGE'],
])('%j ends with %i', async (args, exitCode, code) => {
  const { code: actual, stderr } = await lbctl(...args, '--json');
  expect(actual).toBe(exitCode);
  expect(JSON.parse(stderr).error).toMatchObject({ code, exitCode });
});

test.each([
  ['pause', '10.0.0.1:80'],
  ['drain', '10.0.0.1:80'],
  ['roll', '--', 'true'],
])('%s of a service whose name is misspelt tells the name', async (verb, ...rest) => {
  const { code, stderr } = await lbctl(verb, 'usr.rpc', ...rest);
  expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('Did you mean user.rpc?') });
});

test("a go-zero server's instance is refused with exit 7 until somebody says how", async () => {
  await registry.put({ 'user.rpc/foreign': '10.0.0.9:80' }, await registry.etcd.grantLease(60));
  try {
    const foreign = await lbctl('pause', 'user.rpc', '10.0.0.9:80');
    expect(foreign.code).toBe(7);
    expect(foreign.stderr).toMatch(/--strategy mask.*v1\.10\.2[\s\S]*--strategy delete.*v1\.9\.0/);
  } finally {
    await registry.remove('user.rpc/foreign');
  }
});
