import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from '../support/cli.js';
import { type DevRegistry, startDevRegistry } from '../support/dev-registry.js';

let registry: DevRegistry;
let server: Server;
let listening = '';
let lease = 0n;

beforeAll(async () => {
  server = createServer((socket) => socket.destroy());
  listening = await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' ? `127.0.0.1:${address?.port}` : '');
    });
  });
  registry = await startDevRegistry();
  lease = await registry.etcd.grantLease(3600);
  await registry.put({ 'user.rpc/1': '10.0.0.1:8080', 'user.rpc/2': '10.0.0.2:8080' }, lease);
  await registry.put({ 'user.rpc/3': '10.0.0.2:8080' });
  await registry.put({ 'order.rpc/1': listening, 'order.rpc/2': '127.0.0.1:1' }, lease);
  await registry.put({
    'wild.rpc/1': Buffer.from([0xff, 0x00, 0x1b]),
    'wild.rpc/2': 'x'.repeat(1_000_000),
    'wild.rpc/3': '{"a":[]}',
    'wild.rpc/4': '10.0.0.9:80\u001b]0;owned\u0007',
    'wild.rpc/\u001b[2J\u202e': '10.0.0.8:80',
    'wild.rpc/ok': '10.0.0.7:80',
  });
});
afterAll(async () => {
  await registry.close();
  server.close();
});

function lbctl(...args: string[]) {
  return run(args, { env: registry.env });
}

async function json(...args: string[]) {
  const { code, stdout, stderr } = await lbctl(...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

test('list shows every service with its counts', async () => {
  const document = await json('list');
  expect(document).toMatchObject({ schemaVersion: 1, revision: expect.stringMatching(/^\d+$/) });
  expect(document.services.find((entry: { service: string }) => entry.service === 'user.rpc')).toEqual({
    service: 'user.rpc',
    dialects: ['gozero'],
    instances: 3,
    up: 3,
    paused: 0,
    permanent: 1,
    duplicates: 2,
  });
  const { stdout } = await lbctl('list');
  expect(stdout).toMatch(/^SERVICE +INSTANCES +UP +PAUSED +PERMANENT +DUPLICATES +DIALECTS\n/);
  expect(stdout).toMatch(/^user\.rpc +3 +3 +0 +1 +2 +gozero$/m);
});

test('list SERVICE shows its instances, with lease, TTL and notes', async () => {
  const { service, instances } = await json('list', 'user.rpc');
  expect(service).toBe('user.rpc');
  expect(instances.map((entry: { address: string; notes: string[] }) => [entry.address, entry.notes])).toEqual([
    ['10.0.0.1:8080', []],
    ['10.0.0.2:8080', ['DUPLICATE']],
    ['10.0.0.2:8080', ['PERMANENT', 'DUPLICATE']],
  ]);
  expect(instances[0].lease).toMatchObject({ id: String(lease), hex: lease.toString(16), ttlSeconds: 3600 });
  expect(instances[0].lease.remainingSeconds).toBeGreaterThan(20);
  expect(instances[2].lease).toBe(null);
  expect((await json('list', 'user.rpc', '--no-ttl')).instances[0].lease.remainingSeconds).toBe(null);
});

test('every format says the same', async () => {
  expect((await lbctl('list', 'user.rpc', '-o', 'address')).stdout).toBe('10.0.0.1:8080\n10.0.0.2:8080\n');
  const lines = (await lbctl('list', 'user.rpc', '-o', 'ndjson')).stdout.trim().split('\n');
  const ids = lines.map((line) => {
    const { schemaVersion, id } = JSON.parse(line);
    return [schemaVersion, id];
  });
  expect(ids).toEqual([
    [1, '1'],
    [1, '2'],
    [1, '3'],
  ]);
  const { parse } = await import('yaml');
  const yaml = parse((await lbctl('list', 'user.rpc', '--no-ttl', '-o', 'yaml')).stdout);
  expect(yaml).toEqual(await json('list', 'user.rpc', '--no-ttl'));
  const wide = (await lbctl('list', 'user.rpc', '-o', 'wide')).stdout;
  for (const text of ['user.rpc/1', String(lease), lease.toString(16)]) expect(wide).toContain(text);
  expect((await lbctl('list', 'user.rpc')).stdout).toMatch(
    /^10\.0\.0\.1:8080 +1 +up +unknown +1 +- +\d+s\/3600s +- +gozero/m,
  );
});

test('--probe tells who accepts connections', async () => {
  const { instances } = await json('list', 'order.rpc', '--probe');
  const health = Object.fromEntries(
    instances.map((entry: { address: string; health: string }) => [entry.address, entry.health]),
  );
  expect(health).toEqual({ [listening]: 'healthy', '127.0.0.1:1': 'unhealthy' });
});

test('a service without instances: the empty document, similar names, exit 3', async () => {
  for (const args of [
    ['list', 'user.rcp'],
    ['watch', 'user.rcp', '--once'],
  ]) {
    const plain = await lbctl(...args);
    expect({ args, code: plain.code }).toEqual({ args, code: 3 });
    expect(plain.stderr).toContain('Did you mean user.rpc?');
    const { code, stdout, stderr } = await lbctl(...args, '--json');
    expect(code).toBe(3);
    expect(JSON.parse(stderr).error).toMatchObject({ code: 'NO_INSTANCE', exitCode: 3 });
    expect(JSON.parse(stdout)).toMatchObject({ schemaVersion: 1, service: 'user.rcp' });
  }
  expect(JSON.parse((await lbctl('list', 'user.rcp', '--json')).stdout).instances).toEqual([]);
  expect(JSON.parse((await lbctl('watch', 'user.rcp', '--once', '--json')).stdout).type).toBe('SYNCED');
});

test.each(['', 'a b', '../x', 'a/../b'])('the service name %j is refused', async (name) => {
  expect((await lbctl('list', name)).code).toBe(2);
});

test('hostile keys and values are shown, and none of them reaches the terminal raw', async () => {
  for (const args of [
    ['list', 'wild.rpc'],
    ['list', 'wild.rpc', '-o', 'wide'],
    ['list', 'wild.rpc', '-o', 'yaml'],
    ['list', 'wild.rpc', '-o', 'ndjson'],
    ['list', 'wild.rpc', '-o', 'address'],
    ['list', 'wild.rpc', '--json'],
    ['list'],
    ['watch', 'wild.rpc', '--once'],
    ['watch', 'wild.rpc', '--once', '--json'],
  ]) {
    const { code, stdout } = await lbctl(...args);
    expect({ args, code }).toEqual({ args, code: 0 });
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
  }
  const { instances } = await json('list', 'wild.rpc');
  expect(instances).toHaveLength(6);
  const unparsed = instances.filter((entry: { notes: string[] }) => entry.notes.includes('UNPARSED'));
  expect(unparsed.map((entry: { id: string }) => entry.id).sort()).toEqual(['1', '2', '3', '4']);
});

test('20,000 keys with two addresses are listed', async () => {
  const entries = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [`big.rpc/${index}`, `10.1.0.${index % 2}:80`]),
  );
  await registry.put(entries, lease);
  const { stdout } = await lbctl('list', 'big.rpc', '-o', 'address');
  expect(stdout).toBe('10.1.0.0:80\n10.1.0.1:80\n');
  const { instances } = await json('list', 'big.rpc');
  expect(instances).toHaveLength(20_000);
  expect(instances[0].notes).toContain('DUPLICATE');
});

test('an address with a line end in it is one line', async () => {
  await registry.put({ 'split.rpc/1': '{"Op":0,"Addr":"10.0.0.1\\n10.6.6.6:80"}' });
  expect(await lbctl('list', 'split.rpc', '-o', 'address')).toEqual({
    code: 0,
    stdout: '10.0.0.1\\n10.6.6.6:80\n',
    stderr: '',
  });
});

test('a failure names what was asked for', async () => {
  const away = { env: { LBCTL_ENDPOINTS: '127.0.0.1:1' } };
  expect((await run(['list'], away)).stderr).toContain('Could not list all keys: 127.0.0.1:1 refused');
  expect((await run(['list', 'user.rpc'], away)).stderr).toContain('Could not list "user.rpc/": 127.0.0.1:1 refused');
});

test('an empty etcd is said to be empty', async () => {
  const empty = await startDevRegistry();
  const table = await run(['list'], { env: empty.env });
  expect(table).toEqual({ code: 0, stdout: '', stderr: expect.stringContaining('No service is registered') });
  await empty.close();
});

test('probing many instances is no noise', async () => {
  const many = Array.from({ length: 20 }, (_, i) => [`many.rpc/${i}`, `127.0.0.1:${i + 1}`]);
  await registry.put(Object.fromEntries(many), lease);
  const { code, stderr } = await lbctl('list', 'many.rpc', '--probe');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});
