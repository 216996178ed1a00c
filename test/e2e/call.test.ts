import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run, start } from '../support/cli.js';
import { type DevRegistry, startDevRegistry } from '../support/dev-registry.js';
import { type ServerProcess, startServerProcess } from '../support/grpc-server-process.js';

let registry: DevRegistry;
let servers: ServerProcess[];

beforeAll(async () => {
  registry = await startDevRegistry();
  const etcd = registry.endpoint.replace('http://', '');
  servers = await Promise.all([
    startServerProcess({ reflection: true, register: { etcd, service: 'echo.rpc', options: { weight: 5 } } }),
    startServerProcess({ health: null, register: { etcd, service: 'echo.rpc', options: { weight: 1 } } }),
    startServerProcess({ health: 'NOT_SERVING', register: { etcd, service: 'ill.rpc' } }),
    startServerProcess({ reflection: true, register: { etcd, service: 'told.rpc' } }),
  ]);
  await registry.put({ 'paused-none/x': 'not an address' });
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await registry.close();
});

const call = (...args: string[]) => run(['call', ...args], { env: registry.env });
const echo = ['--method', 'test.Echo/Say', '--proto', 'test/fixtures/echo.proto'];

interface Document {
  readonly schemaVersion: number;
  readonly policy: string;
  readonly calls: number;
  readonly errors: number;
  readonly heldBack: number;
  readonly outcomes: Record<string, number>;
  readonly latencyMs: Record<string, number> | null;
  readonly nodes: ReadonlyArray<{ address: string; calls: number; share: number; errors: number }>;
}

describe('call', () => {
  test('checks the health of a service, and takes UNIMPLEMENTED for alive', async () => {
    const ended = await call('echo.rpc', '--policy', 'round_robin');
    expect(ended.stderr).toContain('UNIMPLEMENTED is taken for a sign of life');
    expect(ended.stdout).toContain('round_robin  grpc.health.v1.Health/Check');
    expect(ended.stdout).toMatch(/10 calls in .* 0 failed \((OK 5, UNIMPLEMENTED 5|UNIMPLEMENTED 5, OK 5)\)/);
    expect(ended.code).toBe(0);
  });

  test('weights of the registration decide: 600 calls go 500 and 100', async () => {
    const ended = await call('echo.rpc', '--policy', 'weighted_round_robin', '-n', '600', '--json', ...echo);
    expect(ended.stderr).toBe('');
    const document: Document = JSON.parse(ended.stdout);
    expect(document).toMatchObject({ schemaVersion: 1, policy: 'smooth_weighted_round_robin', calls: 600, errors: 0 });
    expect(document.nodes.map(({ calls }) => calls).sort()).toEqual([100, 500]);
    expect(Object.keys(document.latencyMs ?? {})).toEqual(['p50', 'p90', 'p99', 'p999', 'max']);
  });

  test('compares policies in one run, a document each', async () => {
    const args = ['--policy', 'p2c_ewma,round_robin', '--rps', '200', '--duration', '1s', '--json', ...echo];
    const documents: Document[] = JSON.parse((await call('echo.rpc', ...args)).stdout);
    expect(documents.map(({ policy }) => policy)).toEqual(['p2c_ewma', 'round_robin']);
    for (const { calls, heldBack, schemaVersion, nodes } of documents) {
      expect(schemaVersion).toBe(1);
      // On a machine that stalls calls are held back, not sent in a burst: every one that was due is counted.
      expect(calls + heldBack).toBe(200);
      expect(calls).toBeGreaterThan(100);
      expect(nodes.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
    }
  });

  test('asks the server for its methods when no proto is given', async () => {
    const ended = await call(
      'told.rpc',
      '--method',
      'test.Echo/Say',
      '-d',
      '{"text": "hi", "repeat_times": 2}',
      '-n',
      '1',
    );
    expect(ended.stdout).toContain('1 calls');
    expect(ended.code).toBe(0);
  });

  test('one key, one instance', async () => {
    const args = ['--policy', 'consistent_hash', '--key', 'user:42', '-n', '50', '--json', ...echo];
    const { nodes }: Document = JSON.parse((await call('echo.rpc', ...args)).stdout);
    expect(nodes.map(({ share }) => share)).toEqual([1]);
  });

  test('a server that is not serving is a failed check: exit 6', async () => {
    const ended = await call('ill.rpc', '-n', '3');
    expect(ended.stdout).toContain('3 failed (NOT_SERVING 3)');
    expect(ended.stdout).toMatch(/127\.0\.0\.1:\d+ +3 +100\.0% +3 /);
    expect(ended.stderr).toContain('3 of 3 calls failed');
    expect(ended.code).toBe(6);
  });

  test('SIGINT ends it promptly, with what was measured, exit 130', async () => {
    const live = start(['call', 'echo.rpc', '--rps', '50', '--duration', '60s', ...echo], { env: registry.env });
    const [server] = servers;
    await server?.counts({ reset: true });
    for (let calls = 0; calls === 0; calls = (await server?.counts())?.calls ?? 1);
    const asked = performance.now();
    live.child.kill('SIGINT');
    const ended = await live.ended;
    expect(ended.code).toBe(130);
    expect(ended.stdout).toMatch(/\d+ calls in/);
    expect(performance.now() - asked).toBeLessThan(3000);
  });

  test('SIGINT ends it at once while nobody answers, and while a server is asked for its methods', async () => {
    const silent = await startSilentServer();
    try {
      for (const more of [[], ['--method', 'test.Echo/Say']]) {
        const live = start(['call', `direct:///${silent.address}`, ...more], { env: registry.env });
        await silent.connected();
        const asked = performance.now();
        live.child.kill('SIGINT');
        expect(await live.ended).toMatchObject({ code: 130, stdout: '' });
        expect(performance.now() - asked).toBeLessThan(2000);
      }
    } finally {
      silent.stop();
    }
  });

  test('a target is called without any other setting; an address that refuses is told at once', async () => {
    const [server] = servers;
    const good = await run(['call', `direct:///${server?.address}`, '-n', '3']);
    expect(good).toMatchObject({ code: 0, stderr: '' });
    const startedAt = performance.now();
    const refused = await run(['call', 'direct:///127.0.0.1:1', '-n', '2', '--json']);
    expect(performance.now() - startedAt).toBeLessThan(4000);
    expect(refused.code).toBe(6);
    expect(JSON.parse(refused.stdout)).toMatchObject({ calls: 2, errors: 2, outcomes: { UNAVAILABLE: 2 } });
    expect(JSON.parse(refused.stderr)).toMatchObject({ error: { code: 'CHECK_FAILED', exitCode: 6 } });
  });

  test('etcd targets end as services do: 3 without an instance, 4 without etcd', async () => {
    const etcd = registry.endpoint.replace('http://', '');
    const targets = [`etcd:///${etcd}?key=none.rpc`, 'discov:///127.0.0.1:1?key=echo.rpc', `etcd://${etcd}/echo.rpc`];
    const ended = await Promise.all(targets.map((target) => run(['call', target])));
    expect(ended.map(({ code }) => code)).toEqual([3, 4, 0]);
  });

  test.each([
    [['ech.rpc'], 3, 'Did you mean echo.rpc?'],
    [['echo.rpc', '-n', '0'], 2, '--count'],
    [['echo.rpc', '--concurrency', '0'], 2, 'concurrency'],
    [['echo.rpc', '--metadata', 'bad header=1'], 2, 'Metadata "bad header" cannot be sent'],
    [['echo.rpc', ...echo, '--data', '[1]'], 2, 'JSON object'],
    [['echo.rpc', ...echo, '--data', '{"txt": 1}'], 2, 'no field "txt"'],
    [['echo.rpc', ...echo, '--data', '{"text": {"a": 1}}'], 2, '"text" is not an object there'],
    [['echo.rpc', ...echo, '--data', '{"repeat_times": "abc"}'], 2, '"repeatTimes" would be sent as 0'],
    [['echo.rpc', '--method', '__proto__/toString', '--proto', 'test/fixtures/echo.proto'], 3, 'no method'],
    [['echo.rpc', '--metadata', 'connection=x'], 2, 'belongs to the protocol'],
    [['echo.rpc', '--policy', 'consistent_hash', '--key', 'n\u00e9'], 2, 'no header can carry'],
    [['echo.rpc', '--policy', 'consistent_hash', '--key', ''], 2, 'consistent_hash needs the hash key'],
    [['echo.rpc', '--method', 'Say'], 2, '"Say" names no method'],
    [
      ['echo.rpc', '--method', 'test.Echo/Shout', '--proto', 'test/fixtures/echo.proto'],
      3,
      'no method test.Echo/Shout',
    ],
    [['echo.rpc', '--method', 'test.Echo/Stream', '--proto', 'test/fixtures/echo.proto'], 2, 'streaming'],
    [['echo.rpc', '--method', 'a.B/C', '--proto', '/nowhere.proto'], 2, 'Cannot read /nowhere.proto'],
    [['told.rpc', '--method', 'no.Such/Method'], 3, 'no.Such'],
    [['ill.rpc', '--method', 'test.Echo/Say'], 6, 'offers no reflection'],
    [['http://127.0.0.1:80'], 2, 'http'],
    [['etcd:///127.0.0.1:2379'], 2, '"key" is missing'],
    [['direct:///'], 2, 'names no address'],
    [['echo.rpc', '--endpoints', '127.0.0.1:1'], 4, 'refused the connection'],
  ] as const)('%j: exit %i, and says what to do', async (args, code, words) => {
    const ended = await call(...args, '--json');
    expect(ended.stderr).toContain(JSON.stringify(words).slice(1, -1));
    expect(ended.code).toBe(code);
  });
});

/** Accepts connections and says nothing. */
async function startSilentServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    connected: () => once(server, 'connection'),
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
