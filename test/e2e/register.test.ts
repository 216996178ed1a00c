import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { groupIsAlive, signalGroup } from '../../src/cli/wrapped-command/process-group.js';
import { connect } from '../../src/core/etcd/connection.js';
import { prefixRange } from '../../src/core/etcd/key-text.js';
import type { Etcd } from '../../src/core/etcd/port.js';
import { type Live, type RunOptions, run, start as startCli } from '../support/cli.js';
import { type EtcdProcess, startEtcd } from '../support/etcd-process.js';

let server: EtcdProcess;
let etcd: Etcd;
let folder: string;
let service = '';
let count = 0;
const lives: Live[] = [];
const groups: number[] = [];

beforeAll(async () => {
  server = await startEtcd();
  etcd = await connect({ endpoints: [server.endpoint] });
});
afterAll(async () => {
  await etcd.close();
  await server.stop();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lbctl-register-'));
  service = `user.rpc${++count}`;
});
afterEach(() => {
  for (const live of lives.splice(0)) live.kill();
  for (const group of groups.splice(0)) signalGroup(group, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const address = '127.0.0.1:9001';
const patience = { timeout: 30_000, interval: 10 };
const says = (live: Live, pattern: string | RegExp) => live.waitFor(pattern, { timeoutMs: 30_000 });

function start(args: readonly string[], env: RunOptions['env'] = {}): Live {
  const live = startCli(['register', service, ...args], { env: { LBCTL_ENDPOINTS: server.endpoint, ...env } });
  lives.push(live);
  return live;
}
/** A wrapped shell script that works in the folder of the test. */
const wrap = (script: string) => ['--', 'sh', '-c', `cd ${folder}\necho $$ > pid\n${script}`];
const read = (name: string) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), 'utf8') : '');
const appears = (name: string) => vi.waitFor(() => expect(read(name)).toContain('\n'), patience);
const keys = async () => (await etcd.list(prefixRange(`${service}/`))).kvs;
const addresses = async () => (await keys()).map((kv) => kv.value.toString());
const registered = () => vi.waitFor(async () => expect(await addresses()).toEqual([address]), patience);

async function group(): Promise<number> {
  await appears('pid');
  groups.push(Number(read('pid')));
  return Number(read('pid'));
}

async function listen(port = 0): Promise<Server> {
  const tcp = createServer((socket) => socket.on('error', () => undefined).resume());
  await new Promise<void>((resolve, reject) => tcp.once('error', reject).listen(port, '127.0.0.1', resolve));
  return tcp;
}
const portOf = (tcp: Server) => (tcp.address() as AddressInfo).port;
const close = (tcp: Server) => new Promise((resolve) => tcp.close(resolve));

describe('register without a command', () => {
  it('leaves stdin to whom it belongs', async () => {
    const env = { LBCTL_ENDPOINTS: server.endpoint };
    const missing = await run(['register', service], { env, stdin: `${address}\n` });
    expect(missing).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('address to register') });
    const wrapped = await run(['register', service, '--advertise', address, '--drain-delay', '0s', '--', 'cat'], {
      env,
      stdin: 'for the server\n',
    });
    expect(wrapped).toMatchObject({ code: 0, stdout: 'for the server\n' });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'holds one key until %s, and then it is gone and all is well',
    async (signal) => {
      const live = start([address, '--json', '--weight', '5', '--zone', 'a']);
      const [line] = await says(live, /.*"registered".*\n/);
      const [kv] = await keys();
      expect(JSON.parse(line)).toMatchObject({
        schemaVersion: 1,
        state: 'registered',
        service,
        address,
        key: kv?.key,
        lease: { id: String(kv?.lease), hex: kv?.lease.toString(16), ttlSeconds: 10 },
      });
      expect(kv?.key).toBe(`${service}/${kv?.lease}`);
      live.child.kill(signal);
      expect((await live.ended).code).toBe(0);
      expect(await keys()).toEqual([]);
      expect(live.stdout()).toMatch(/"deregistered"/);
    },
  );

  it('keeps trying when etcd is down at the start, says what helps, and registers when it is there', async () => {
    const late = await startEtcd();
    await late.kill();
    const live = start([address], { LBCTL_ENDPOINTS: late.endpoint });
    const [line] = await says(live, /trying .*\n/);
    expect(line).toMatch(/refused the connection → .*endpoint health/);
    await late.restart();
    await says(live, 'registered');
    live.child.kill('SIGTERM');
    expect((await live.ended).code).toBe(0);
    await late.stop();
  });

  it('SIGTERM while etcd is down and nothing was ever registered is a good end', async () => {
    const live = start([address], { LBCTL_ENDPOINTS: '127.0.0.1:1' });
    await says(live, 'trying');
    live.child.kill('SIGTERM');
    expect((await live.ended).code).toBe(0);
  });
});

describe('the exit code', () => {
  it.each([
    ['is the command’s own', 'exit 42', 42],
    ['says by which signal the command died', 'kill -KILL $$', 137],
  ])('%s', async (_, script, code) => {
    const live = start([address, ...wrap(script)]);
    expect((await live.ended).code).toBe(code);
    expect(live.stdout()).toBe('');
    expect(await keys()).toEqual([]);
  });

  it('is 127 for a command that is not there, 126 for one that may not run: neither was ever registered', async () => {
    writeFileSync(join(folder, 'script'), '');
    const before = (await etcd.list({ key: 'x' })).header.revision;
    const missing = start([address, '--', join(folder, 'nothing')]);
    const forbidden = start([address, '--', join(folder, 'script')]);
    expect((await missing.ended).code).toBe(127);
    expect((await forbidden.ended).code).toBe(126);
    expect((await etcd.list({ key: 'x' })).header.revision).toBe(before);
  });

  it('is 2 for what cannot be registered, with and without a command', async () => {
    const wrong = start(['localhost']);
    const wrapped = start([address, '--weight', '1e9', ...wrap('exit 0')]);
    expect(await wrong.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('port') });
    expect(await wrapped.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('--weight') });
    expect(read('pid')).toBe('');
  });
});

describe('SIGTERM with a command', () => {
  it('takes the key out of etcd, waits, and only then tells the command', async () => {
    const live = start([
      address,
      '--drain-delay',
      '500ms',
      ...wrap(`trap 'date +%s%3N > told; exit 7' TERM; while :; do sleep 0.02; done`),
    ]);
    await registered();
    const listing = await etcd.list(prefixRange(`${service}/`));
    const gone: number[] = [];
    // Opening a watch takes its time, which would count as part of the wait that is measured here.
    await new Promise<void>((live) => {
      etcd.watch(
        { ranges: [prefixRange(`${service}/`)], afterRevision: listing.header.revision },
        {
          events: (events) => void (events.some((event) => event.type === 'delete') && gone.push(Date.now())),
          live,
          stale: () => undefined,
          lost: () => undefined,
          denied: () => undefined,
        },
      );
    });
    live.child.kill('SIGTERM');
    expect((await live.ended).code).toBe(7);
    await vi.waitUntil(() => gone.length > 0);
    expect(Number(read('told')) - (gone[0] ?? 0)).toBeGreaterThan(250);
  });

  it('a hang-up without a terminal goes to the command, which stays registered', async () => {
    const live = start([address, ...wrap(`trap 'echo reloaded > hup' HUP; while :; do sleep 0.02; done`)]);
    await registered();
    live.child.kill('SIGHUP');
    await appears('hup');
    expect(await addresses()).toEqual([address]);
    live.child.kill('SIGTERM');
    expect((await live.ended).code).toBe(143);
  });
});

describe('no orphan', () => {
  it('after kill -9 of the command: its children end, the key goes, and the code says so', async () => {
    const live = start([address, ...wrap('sleep 100 & sleep 100 & wait')]);
    await registered();
    const pid = await group();
    process.kill(pid, 'SIGKILL');
    expect((await live.ended).code).toBe(137);
    expect(groupIsAlive(pid)).toBe(false);
    expect(await keys()).toEqual([]);
  });

  it('after kill -9 of lbctl: the command and its children end, the key goes with its lease', async () => {
    const live = start([address, '--ttl', '2s', ...wrap('sleep 100 & sleep 100 & wait')]);
    await registered();
    const pid = await group();
    live.child.kill('SIGKILL');
    await vi.waitFor(() => expect(groupIsAlive(pid)).toBe(false), patience);
    await vi.waitFor(async () => expect(await keys()).toEqual([]), patience);
  });
});

describe('--health tcp', () => {
  it('registers a server that starts late, withdraws it when it is gone, and takes it back', async () => {
    const first = await listen();
    const port = portOf(first);
    await close(first);
    const own = `127.0.0.1:${port}`;
    const live = start([own, '--health', 'tcp']);
    await says(live, /waiting .*ECONNREFUSED/);
    expect(await keys()).toEqual([]);
    const second = await listen(port);
    await vi.waitFor(async () => expect(await addresses()).toEqual([own]), patience);
    await close(second);
    await says(live, /withdrawn .*ECONNREFUSED/);
    expect(await keys()).toEqual([]);
    const third = await listen(port);
    await vi.waitFor(async () => expect(await addresses()).toEqual([own]), patience);
    live.child.kill('SIGTERM');
    expect((await live.ended).code).toBe(0);
    expect(await keys()).toEqual([]);
    await close(third);
  });

  it('a port in use: warns that somebody else answers, and ends with the command’s failure and no key', async () => {
    const stranger = await listen();
    const own = `127.0.0.1:${portOf(stranger)}`;
    const program = `require('net').createServer().listen(${portOf(stranger)}, '127.0.0.1')`;
    const live = start([own, '--health', 'tcp', '--', process.execPath, '-e', program]);
    expect((await live.ended).code).toBe(1);
    expect(live.stderr()).toMatch(/warning .*another process/);
    expect(live.stderr()).toContain('EADDRINUSE');
    expect(await keys()).toEqual([]);
    await close(stranger);
  });
});

it('a wrong password ends with exit 4 at once, and ends the command', async () => {
  const guarded = await startEtcd();
  const post = async (path: string, body: object) => {
    const response = await fetch(`${guarded.endpoint}/v3/auth/${path}`, { method: 'POST', body: JSON.stringify(body) });
    expect(response.ok).toBe(true);
  };
  await post('user/add', { name: 'root', password: 'secret' });
  await post('role/add', { name: 'root' });
  await post('user/grant', { user: 'root', role: 'root' });
  await post('enable', {});
  const env = { LBCTL_ENDPOINTS: guarded.endpoint, LBCTL_USER: 'root' };
  const wrong = start([address, ...wrap('sleep 100 & wait')], { ...env, LBCTL_PASSWORD: 'wrong' });
  expect((await wrong.ended).code).toBe(4);
  expect(groupIsAlive(await group())).toBe(false);
  const right = start([address], { ...env, LBCTL_PASSWORD: 'secret' });
  await says(right, 'registered');
  right.child.kill('SIGTERM');
  expect((await right.ended).code).toBe(0);
  await guarded.stop();
});
