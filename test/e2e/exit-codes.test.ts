/** Every exit code that a script can meet when it steers, reached by the real program, with and without --json. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../../src/core/etcd/connection.js';
import type { Etcd } from '../../src/core/etcd/port.js';
import { type Ended, run, start } from '../support/cli.js';
import { type EtcdProcess, enableAuth, etcdctl, startEtcd } from '../support/etcd-process.js';

const broken = fileURLToPath(new URL('../support/broken-machine.cjs', import.meta.url));
let server: EtcdProcess;
let etcd: Etcd;
let listener: Server;
let address = '';

beforeAll(async () => {
  server = await startEtcd();
  listener = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const bound = listener.address();
  address = `127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`;
  etcd = await connect({ endpoints: [server.endpoint] });
});
afterAll(async () => {
  await etcd.close();
  listener.close();
  await server.stop();
});

/** Two permanent keys of a service of its own, the first with an address that answers. */
async function service(name: string): Promise<string> {
  await etcd.txn({
    success: [
      { put: `${name}/1`, value: address },
      { put: `${name}/2`, value: '127.0.0.1:2' },
    ],
  });
  return name;
}

interface Case {
  readonly code: number;
  readonly what: string;
  /** The code of the JSON error; null: ends without one. */
  readonly error: string | null;
  readonly run: (name: string, json: readonly string[]) => Promise<Ended>;
}

const lbctl = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  run(args, { env: { LBCTL_ENDPOINTS: server.endpoint, ...env } });
const drain = async (
  name: string,
  json: readonly string[],
  flags: readonly string[],
  command: readonly string[] = [],
) => lbctl(['drain', await service(name), '1', '--verify', '0s', ...flags, ...json, ...command]);

const cases: readonly Case[] = [
  { code: 0, what: 'drained', error: null, run: (name, json) => drain(name, json, []) },
  {
    code: 1,
    what: 'a bug of lbctl or of the machine',
    error: 'INTERNAL',
    run: async (name, json) =>
      lbctl(['pause', await service(name), '1', ...json], { NODE_OPTIONS: `--require ${broken}`, BROKEN: 'hostname' }),
  },
  {
    code: 2,
    what: 'a flag that cannot be',
    error: 'USAGE',
    run: (name, json) => drain(name, json, ['--grace', 'soon']),
  },
  {
    code: 3,
    what: 'no such instance',
    error: 'NOT_FOUND',
    run: async (name, json) => lbctl(['drain', await service(name), '10.9.9.9:1', ...json]),
  },
  {
    code: 4,
    what: 'no etcd',
    error: 'ETCD_UNREACHABLE',
    run: (name, json) => lbctl(['drain', name, '1', ...json], { LBCTL_ENDPOINTS: 'http://127.0.0.1:1' }),
  },
  {
    code: 5,
    what: 'the guard',
    error: 'GUARD_REFUSED',
    run: (name, json) => drain(name, json, ['--min-available', '2']),
  },
  {
    code: 6,
    what: 'never healthy again',
    error: 'CHECK_FAILED',
    run: (name, json) => drain(name, json, ['--timeout', '1s', '--health', 'tcp://127.0.0.1:1'], ['--', 'true']),
  },
  {
    code: 7,
    what: 'a go-zero server, and nobody says how',
    error: 'NOT_MANAGED',
    run: async (name, json) => {
      await etcd.txn({ success: [{ put: `${name}/9`, value: address, lease: await etcd.grantLease(60) }] });
      return lbctl(['drain', await service(name), '9', '--min-available', '0', ...json]);
    },
  },
  {
    code: 8,
    what: 'somebody takes over while the command runs',
    error: 'LEASE_LOST',
    run: async (name, json) => {
      await service(name);
      const line = ['drain', name, '1', '--verify', '0s', ...json, '--', 'sh', '-c', 'echo begun >&2; sleep 20'];
      const live = start(line, { env: { LBCTL_ENDPOINTS: server.endpoint } });
      await live.waitFor('begun', { stream: 'stderr' });
      const [claim] = (await etcd.list({ key: `lbctl/v1/drain/${name}/`, end: `lbctl/v1/drain/${name}0` })).kvs;
      // An outage longer than the lease, in which somebody else took over.
      await etcd.revokeLease(claim?.lease ?? 0n);
      const holder = { ...JSON.parse(claim?.value.toString() ?? ''), by: 'bob@box', pid: 1 };
      await etcd.txn({ success: [{ put: claim?.key ?? '', value: JSON.stringify(holder) }] });
      return live.ended;
    },
  },
  {
    code: 9,
    what: 'written for some, refused for the others',
    error: 'PARTLY_DONE',
    run: async (name, json) => {
      const own = await startEtcd();
      try {
        const ids = Array.from({ length: 40 }, (_, i) => `${i < 30 ? 'a' : 'b'}${i}`);
        for (const [i, id] of ids.entries())
          await etcdctl(own.endpoint, 'put', `${name}/${id}`, `10.0.${i < 30 ? 0 : 1}.${i}:80`);
        await enableAuth(own.endpoint, { name: 'ops', password: 'secret', prefix: 'lbctl/v1/' });
        const root = ['--user', 'root:root', 'role', 'grant-permission', 'ops', '--prefix=true'];
        await etcdctl(own.endpoint, ...root, 'read', `${name}/`);
        await etcdctl(own.endpoint, ...root, 'readwrite', `${name}/a`);
        const account = { LBCTL_ENDPOINTS: own.endpoint, LBCTL_USER: 'ops', LBCTL_PASSWORD: 'secret' };
        return await lbctl(['pause', name, '--all', '--min-available', '0', '--verify', '0s', ...json], account);
      } finally {
        await own.stop();
      }
    },
  },
  {
    code: 124,
    what: 'a condition that is not met in time',
    error: 'TIMEOUT',
    run: (name, json) => drain(name, json, ['--grace', '30s', '--timeout', '500ms']),
  },
  {
    code: 125,
    what: 'no process left for the command',
    error: 'WRAPPER_FAILED',
    run: async (name, json) =>
      lbctl(['drain', await service(name), '1', '--verify', '0s', ...json, '--', 'true'], {
        NODE_OPTIONS: `--require ${broken}`,
        BROKEN: 'spawn',
      }),
  },
  {
    code: 126,
    what: 'a command that may not run',
    error: 'COMMAND_NOT_EXECUTABLE',
    run: (name, json) => drain(name, json, [], ['--', '/etc/passwd']),
  },
  {
    code: 127,
    what: 'no such command',
    error: 'COMMAND_NOT_FOUND',
    run: (name, json) => drain(name, json, [], ['--', 'no-such-command']),
  },
  {
    code: 42,
    what: "the command's own code",
    error: 'COMMAND_FAILED',
    run: (name, json) => drain(name, json, [], ['--', 'sh', '-c', 'exit 42']),
  },
  ...(['SIGINT', 'SIGTERM'] as const).map(
    (signal): Case => ({
      code: signal === 'SIGINT' ? 130 : 143,
      what: signal,
      error: null,
      run: async (name, json) => {
        await service(name);
        const line = ['drain', name, '1', '--verify', '0s', '--grace', '30s', ...json];
        const live = start(line, { env: { LBCTL_ENDPOINTS: server.endpoint } });
        await live.waitFor('grace', { stream: 'stderr' });
        live.child.kill(signal);
        return live.ended;
      },
    }),
  ),
];

describe.concurrent.each(cases)('exit $code: $what', ({ code, error, run: reach }) => {
  test.each([[[]], [['--json']]])('with %j', async (json: readonly string[]) => {
    const ended = await reach(`exit-${code}${json.length === 0 ? '' : '-json'}`, json);
    expect(ended.code, ended.stderr).toBe(code);
    if (json.length === 0) return;
    // The last thing on stderr, one line; everything there parses.
    const lines = ended.stderr
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('{'));
    const last = lines.length === 0 ? {} : JSON.parse(lines.at(-1) ?? '');
    if (error !== null) expect(last.error).toMatchObject({ code: error, exitCode: code });
    else expect(last.error).toBeUndefined();
    if (ended.stdout !== '') expect(JSON.parse(ended.stdout).schemaVersion).toBe(1);
  });
});
