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
    for (const { calls, schemaVersion, nodes } of documents) {
      expect(schemaVersion).toBe(1);
      // Never more than the rate; a machine that stalls at the end of the second can make it less.
      expect(calls).toBeLessThanOrEqual(202);
      expect(calls).toBeGreaterThan(150);
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

  test.each([
    [['nosuch.rpc'], 3, 'No instance of "nosuch.rpc"'],
    [['ech.rpc'], 3, 'Did you mean echo.rpc?'],
    [['echo.rpc', '--policy', 'p2c'], 2, 'no policy "p2c"'],
    [['echo.rpc', '--policy', 'random,random'], 2, 'names one twice'],
    [['echo.rpc', '--policy', 'maglev'], 2, 'maglev needs the hash key'],
    [['echo.rpc', '--rps', '0'], 2, '--rps "0"'],
    [['echo.rpc', '--rps', 'many'], 2, '--rps "many"'],
    [['echo.rpc', '--duration', '0s'], 2, '--duration "0s"'],
    [['echo.rpc', '--timeout', '0s'], 2, '--timeout "0s"'],
    [['echo.rpc', '-n', '0'], 2, '--count'],
    [['echo.rpc', '--concurrency', '0'], 2, 'concurrency'],
    [['echo.rpc', '--metadata', 'novalue'], 2, '--metadata "novalue"'],
    [['echo.rpc', '--metadata', 'bad header=1'], 2, 'Metadata "bad header" cannot be sent'],
    [['echo.rpc', '--data', '{}'], 2, '--data is for a method'],
    [['echo.rpc', ...echo, '--data', '{'], 2, '--data is no JSON'],
    [['echo.rpc', ...echo, '--data', '[1]'], 2, 'JSON object'],
    [['echo.rpc', ...echo, '--data', '@/nowhere.json'], 2, 'Cannot read --data @/nowhere.json'],
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
    for (const format of [[], ['--json']]) {
      const ended = await call(...args, ...format);
      expect(ended.stderr).toContain(format.length === 0 ? words : JSON.stringify(words).slice(1, -1));
      expect(ended.code).toBe(code);
    }
  });
});
