/** The dashboard where nothing can be drawn, as a process, on a real etcd and real servers. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import type { Frame, Row } from '../../src/core/dashboard/frame.js';
import { encodeObserver } from '../../src/core/stats/observer-record.js';
import { type Live, run, start } from '../support/cli.js';
import { type EtcdProcess, etcdctl, startEtcd } from '../support/etcd-process.js';
import { type ServerOptions, type ServerProcess, startServerProcess } from '../support/grpc-server-process.js';
import { clientFigures, instanceFigures, startStatisticsServer, windows } from '../support/statistics-server.js';
import { hasTmux, Tmux } from '../support/tmux.js';
import { until } from '../support/until.js';

const withinMs = 20_000;
let etcd: EtcdProcess;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

/** The tests run side by side: each ends what is its own. */
type Own = Pick<TestContext, 'onTestFinished'>;

async function server({ onTestFinished }: Own, options: ServerOptions = {}): Promise<ServerProcess> {
  const started = await startServerProcess(options);
  onTestFinished(() => started.stop());
  return started;
}

function dashboard({ onTestFinished }: Own, ...args: string[]): Live {
  const started = start(['dashboard', ...args], { env: { LBCTL_ENDPOINTS: etcd.endpoint } });
  onTestFinished(() => started.kill());
  return started;
}

function frames(live: Live): Frame[] {
  const lines = live.stdout().split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}
const last = (live: Live): Frame | undefined => frames(live).at(-1);
const rowOf = (frame: Frame | undefined, address: string): Row | undefined =>
  frame?.rows.find((row) => row.address === address);

const recorded = (encoding: string) => `test/fixtures/gozero-stat.${encoding}.log`;
/** Code to be loaded before anything of ours. */
const asModule = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;

describe.concurrent('probe', () => {
  test('calls the instances, and tells who is slow, fails, does not answer, and is paused', async (own) => {
    const [fast, slow, failing, plain] = await Promise.all([
      server(own),
      server(own, { latencyMs: 60 }),
      server(own, { health: 'NOT_SERVING' }),
      server(own, { health: null }),
    ]);
    const dead = '127.0.0.1:9';
    const lease = (await etcdctl(etcd.endpoint, 'lease', 'grant', '600')).split(' ')[1] ?? '';
    for (const [id, address] of [fast.address, slow.address, failing.address, plain.address, dead].entries()) {
      await etcdctl(etcd.endpoint, 'put', `probed.rpc/${id}`, address, `--lease=${lease}`);
    }
    const live = dashboard(own, 'probed.rpc', '-o', 'ndjson', '--interval', '200ms', '--probe-rate', '40');
    const row = (address: string) => rowOf(last(live), address);
    const isKnown = () =>
      row(slow.address)?.ewmaMs && row(failing.address)?.health && row(plain.address)?.health && row(dead)?.health;
    await until(() => isKnown() && (row(slow.address)?.lease?.remainingSeconds ?? 0) > 500, withinMs, 'figures');
    expect(last(live)).toMatchObject({ service: 'probed.rpc', source: 'probe', policy: 'p2c_ewma', staleForMs: null });
    expect(last(live)?.rows).toHaveLength(5);
    expect(row(fast.address)).toMatchObject({ state: 'up', health: 'healthy', errorRate: 0, weight: 1 });
    // To a client without the service UNIMPLEMENTED is an answer.
    expect(row(plain.address)).toMatchObject({ health: 'healthy', errorRate: 0 });
    expect(row(failing.address)).toMatchObject({ health: 'unhealthy', errorRate: 1 });
    expect(row(dead)).toMatchObject({ state: 'up', health: 'unhealthy', ewmaMs: null, errorRate: null });
    expect(row(slow.address)?.ewmaMs).toBeGreaterThan(55);
    expect(row(slow.address)?.ewmaMs).toBeGreaterThan((row(plain.address)?.ewmaMs ?? 0) + 30);
    expect(row(slow.address)?.p99Ms).toBeGreaterThan(55);
    expect(row(slow.address)?.lease?.ttlSeconds).toBe(600);

    const paused = await run(['pause', 'probed.rpc', fast.address, '--strategy', 'mask', '--verify', '0'], {
      env: { LBCTL_ENDPOINTS: etcd.endpoint },
    });
    expect(paused.code, paused.stderr).toBe(0);
    await until(() => row(fast.address)?.state === 'paused', withinMs, 'the pause');
    await until(() => row(fast.address)?.callsPerSecond === 0, 1000, 'a rate of 0');
    expect(row(fast.address)).toMatchObject({ id: fast.address, pause: { reason: '' } });
    live.child.kill('SIGINT');
    expect((await live.ended).code).toBe(130);
  });

  test('rows stay when etcd is gone, marked stale with their age, and live again when it is back', async (own) => {
    const registry = await startEtcd();
    own.onTestFinished(() => registry.stop());
    const { address } = await server(own);
    await etcdctl(registry.endpoint, 'put', 'outage.rpc/1', address);
    const live = dashboard(own, 'outage.rpc', '-o', 'ndjson', '--interval', '200ms', '--endpoints', registry.endpoint);
    await until(() => rowOf(last(live), address)?.health === 'healthy', withinMs, 'an answer');
    await registry.kill();
    await until(() => (last(live)?.staleForMs ?? 0) > 2000, withinMs, 'stale');
    expect(rowOf(last(live), address)).toMatchObject({ state: 'up', health: 'healthy' });
    await registry.restart();
    await until(() => last(live)?.staleForMs === null, 5000, 'live');
    expect(rowOf(last(live), address)?.state).toBe('up');
  });
});

describe('log', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'lbctl-dashboard-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  test.each([
    ['json', { slow: 8997, requests: [2651, 5158, 59, 1132], seconds: 60.002 }],
    ['plain', { slow: 8988, requests: [5217, 2604, 59, 1120], seconds: 60 }],
  ])('shows the rates, shares and averages of recorded %s lines without etcd', async (encoding, expected) => {
    const args = ['dashboard', '--log', recorded(encoding), '--interval', '100ms', '--json'];
    const { code, stdout, stderr } = await run(args, { env: { LBCTL_ENDPOINTS: '127.0.0.1:1' } });
    expect(code, stderr).toBe(0);
    const frame: Frame & { schemaVersion: number } = JSON.parse(stdout);
    expect(frame).toMatchObject({ schemaVersion: 1, source: 'log', observers: 1, staleForMs: null });
    const all = expected.requests.reduce((sum, reqs) => sum + reqs, 0);
    for (const [index, reqs] of expected.requests.entries()) {
      const row = rowOf(frame, `127.0.0.1:${9401 + index}`);
      expect(row?.callsPerSecond).toBeCloseTo(reqs / expected.seconds, 6);
      expect(row?.share).toBeCloseTo(reqs / all, 6);
      expect(row).toMatchObject({ inFlight: null, isEwmaBound: true, errorRate: null, state: null, lease: null });
    }
    const slow = rowOf(frame, '127.0.0.1:9403');
    expect(slow?.load).toBe(expected.slow);
    expect(slow?.ewmaMs).toBeCloseTo(expected.slow ** 2 / 1e6, 6);
    expect(frame.notices.filter((notice) => /9404 looks as if it failed fast/.test(notice))).toHaveLength(1);
    expect(frame.notices.filter((notice) => /940[12] takes 5[78] % of the calls/.test(notice))).toHaveLength(1);
  });

  test('a pipe ends the dashboard when it ends, and its clients add up', async () => {
    const both = ['json', 'plain'].map((encoding) =>
      readFileSync(recorded(encoding), 'utf8').replace(/^(?=.)/gm, `[pod/shop-${encoding}/shop] `),
    );
    const { code, stdout } = await run(['dashboard', '--log', '-', '-o', 'ndjson', '--interval', '1m'], {
      stdin: both.join(''),
    });
    expect(code).toBe(0);
    const frame = JSON.parse(stdout);
    expect(frame.observers).toBe(2);
    expect(rowOf(frame, '127.0.0.1:9401')?.callsPerSecond).toBeCloseTo((2651 + 5217) / 60, 1);
  });

  test('a file is waited for, followed, and followed on over a rotation and a truncation', async (own) => {
    const file = path.join(folder, 'stat.log');
    const live = dashboard(own, '--log', file, '-o', 'ndjson', '--interval', '100ms');
    const load = () => rowOf(last(live), '10.0.0.1:80')?.load;
    const line = (number: number) =>
      `{"@timestamp":"2026-11-30T00:5${number}:25.811Z","content":"p2c - conn: 10.0.0.1:80, load: ${number}000, reqs: 6","level":"stat"}\n`;
    await until(() => last(live)?.notices[0]?.includes('stat.log cannot be read: it is not there'), withinMs, 'a word');
    writeFileSync(file, line(1).slice(0, 60));
    appendFileSync(file, line(1).slice(60));
    await until(() => load() === 1000, withinMs, 'the first line');
    expect(last(live)?.notices.join()).not.toContain('cannot be read');
    appendFileSync(file, line(2));
    renameSync(file, `${file}.1`);
    writeFileSync(file, line(3));
    await until(() => load() === 3000, withinMs, 'the line after the rotation');
    expect(rowOf(last(live), '10.0.0.1:80')?.callsPerSecond).toBeCloseTo(0.1, 5);
    truncateSync(file);
    await new Promise((resolve) => setTimeout(resolve, 400));
    appendFileSync(file, line(4));
    await until(() => load() === 4000, withinMs, 'the line after the truncation');
  });

  test('with a service its rows are those of the registry, and what other services are called is left out', async () => {
    await etcdctl(etcd.endpoint, 'put', 'logged.rpc/1', '127.0.0.1:9401');
    await etcdctl(etcd.endpoint, 'put', 'logged.rpc/2', '127.0.0.1:9409');
    const file = path.join(folder, 'two.log');
    const other =
      '{"@timestamp":"2026-11-30T00:57:26.000Z","content":"p2c - conn: 10.9.9.9:1, load: 5000, reqs: 7","level":"stat"}\n';
    writeFileSync(file, readFileSync(recorded('json'), 'utf8') + other);
    const args = ['dashboard', 'logged.rpc', '--log', file, '--json', '--interval', '100ms'];
    const { stdout, code } = await run(args, { env: { LBCTL_ENDPOINTS: etcd.endpoint } });
    expect(code).toBe(0);
    const { rows }: Frame = JSON.parse(stdout);
    const states = Object.fromEntries(rows.map(({ address, state }) => [address, state]));
    expect(states).toEqual({
      '127.0.0.1:9401': 'up',
      '127.0.0.1:9402': 'gone',
      '127.0.0.1:9403': 'gone',
      '127.0.0.1:9404': 'gone',
      '127.0.0.1:9409': 'up',
    });
    expect(rows.at(-1)).toMatchObject({ load: null, callsPerSecond: null, share: null });
  });
});

describe('a log that says nothing', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'lbctl-pipe-'));
  const pipe = path.join(folder, 'pipe');
  beforeAll(() => void execFileSync('mkfifo', [pipe]));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('is no reason to stay: time and signals end it all the same', async (own) => {
    expect(await run(['dashboard', '--log', pipe, '--duration', '300ms'], { timeoutMs: 15_000 })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no statistics line of go-zero yet'),
    });
    for (const [signal, code] of [
      ['SIGTERM', 143],
      ['SIGINT', 130],
    ] as const) {
      const live = dashboard(own, '--log', pipe, '-o', 'ndjson', '--interval', '100ms');
      await until(() => frames(live).length > 0, withinMs, 'a frame');
      live.child.kill(signal);
      expect((await live.ended).code).toBe(code);
    }
  });

  test('nor is a file system that does not answer', async () => {
    // The nearest thing to a mount whose server is gone: a thread that waits in open(2).
    const stuck = asModule(`import { open } from 'node:fs'; open(${JSON.stringify(pipe)}, 'r', () => {});`);
    const args = ['dashboard', '--log', recorded('json'), '--duration', '300ms'];
    const startedAt = performance.now();
    const { code, stdout } = await run(args, { env: { NODE_OPTIONS: `--import ${stuck}` }, timeoutMs: 10_000 });
    expect([code, stdout]).toEqual([137, expect.stringContaining('127.0.0.1:9404')]);
    // The limit of the test gives the same code.
    expect(performance.now() - startedAt).toBeLessThan(8000);
  });

  test('several clients are read through the pipes of a shell, and the last of them is the end', async () => {
    const script = `"$0" bin/run.js dashboard -o ndjson --interval 1m --log <(cat ${recorded('json')}) --log <(cat ${recorded('plain')})`;
    const { stdout, status } = spawnSync('bash', ['-c', script, process.execPath], {
      encoding: 'utf8',
      timeout: 10_000,
    });
    expect(status).toBe(0);
    const frame: Frame = JSON.parse(stdout);
    expect(frame.observers).toBe(2);
    expect(rowOf(frame, '127.0.0.1:9401')?.callsPerSecond).toBeCloseTo((2651 + 5217) / 60, 1);
    const replayed = spawnSync(
      'bash',
      [
        '-c',
        `"$0" bin/run.js dashboard --json --replay <(printf '%s\n' '{"format":"lbctl-dashboard","version":1}' '${stdout.trim()}')`,
        process.execPath,
      ],
      { encoding: 'utf8', timeout: 10_000 },
    );
    expect(JSON.parse(replayed.stdout).rows).toHaveLength(4);
  });
});

describe('observers', () => {
  test('are looked through, and named when they do not answer', async (own) => {
    const client = clientFigures('shop-a1', [
      instanceFigures('10.0.0.1:80', { inFlight: 3, windows: windows({ calls: 40, errors: 10, picksPerSecond: 4 }) }),
    ]);
    const serving = await startStatisticsServer([{ ...client, service: 'observed.rpc' }]);
    own.onTestFinished(() => serving.close());
    const record = (statistics: string) =>
      encodeObserver({
        ...{
          host: hostname(),
          pid: 1,
          client: 'shop',
          policy: 'p2c_ewma',
          revision: 1n,
          inFlight: new Map(),
          statistics,
        },
      });
    await etcdctl(etcd.endpoint, 'put', 'observed.rpc/1', '10.0.0.1:80');
    await etcdctl(etcd.endpoint, 'put', 'observed.rpc/2', '10.0.0.2:80');
    await etcdctl(etcd.endpoint, 'put', 'lbctl/v1/observers/observed.rpc/shop-a1', record(serving.address));
    await etcdctl(etcd.endpoint, 'put', 'lbctl/v1/observers/observed.rpc/dead-b2', record('127.0.0.1:9'));
    const live = dashboard(own, 'observed.rpc', '--source', 'observers', '-o', 'ndjson', '--interval', '200ms');
    await until(
      () => last(live)?.observers === 1 && last(live)?.notices.join().includes('dead-b2'),
      withinMs,
      'figures',
    );
    expect(last(live)).toMatchObject({ source: 'observers', policy: 'p2c_ewma', view: null });
    expect(last(live)?.notices[0]).toMatch(/^dead-b2 at 127\.0\.0\.1:9 has not answered for .*ECONNREFUSED/);
    expect(rowOf(last(live), '10.0.0.1:80')).toMatchObject({
      callsPerSecond: 4,
      errorRate: 0.25,
      inFlight: 3,
      share: 1,
    });
    // In rotation, and no client has said a word of it.
    expect(rowOf(last(live), '10.0.0.2:80')).toMatchObject({ state: 'up', callsPerSecond: null, health: null });
    live.child.kill('SIGTERM');
    expect((await live.ended).code).toBe(143);
    await until(() => serving.open() === 0, withinMs, 'no stream');
  });
});

/** Writes what is imported to stderr. */
const resolver = asModule(`
  import { writeSync } from 'node:fs';
  export function resolve(name, context, next) {
    writeSync(2, 'import ' + name + String.fromCharCode(10));
    return next(name, context);
  }`);
const hook = asModule(`import { register } from 'node:module'; register(${JSON.stringify(resolver)});`);
const spied = { NODE_OPTIONS: `--import ${hook}` };
const log = ['dashboard', '--log', 'test/fixtures/gozero-stat.json.log', '--interval', '100ms'];

describe('where nothing can be drawn', () => {
  test.each([
    ['a pipe', ['--duration', '300ms'], {}],
    ['JSON', ['--json'], {}],
    ['lines of JSON', ['-o', 'ndjson', '--duration', '300ms'], {}],
  ])('ink is never loaded: %s', async (_, more, env) => {
    const { code, stdout, stderr } = await run([...log, ...more], { env: { ...spied, ...env } });
    expect(code).toBe(0);
    expect(stdout).toContain('127.0.0.1:9404');
    expect(stderr).toMatch(/^import .*log-feed/m);
    expect(stderr).not.toMatch(/^import (ink|react|yoga-layout)|ui\/.*show/m);
  });

  test.skipIf(!hasTmux()).each([
    ['in CI', 'CI=1', false],
    ['with TERM=dumb', 'TERM=dumb', false],
    ['elsewhere', 'TERM=screen', true],
  ])('on a terminal %s ink is loaded where it can draw, and nowhere else', async (_, env, draws) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'lbctl-ink-'));
    const tmux = await Tmux.start(120, 30, spied);
    try {
      const imports = path.join(folder, 'imports');
      await tmux.type(
        `${env} ${process.execPath} bin/run.js ${log.join(' ')} --duration 2s 2>${imports}; echo over''ed`,
      );
      await tmux.wait((text) => text.includes('overed'), 'the end', 20_000);
      expect(/^import ink$/m.test(readFileSync(imports, 'utf8'))).toBe(draws);
    } finally {
      await tmux.close();
      rmSync(folder, { recursive: true });
    }
  });

  test('a table comes every interval, with what is remarkable above it', async () => {
    const { stdout } = await run([...log, '--duration', '450ms']);
    // Five on an idle machine.
    expect(stdout.match(/^ADDRESS /gm)?.length).toBeGreaterThan(1);
    expect(stdout).toMatch(/^! 127\.0\.0\.1:9404 looks as if it failed fast/m);
    expect(stdout).toMatch(/^127\.0\.0\.1:9403 .*8997/m);
  });

  test('a reader that has seen enough ends it well', async () => {
    const { code, stderr } = await new Promise<{ code: number | null; stderr: string }>((resolve) => {
      const child = spawn('sh', [
        '-c',
        `"$0" bin/run.js ${log.join(' ')} -o ndjson | head -1 >&2; exit 0`,
        process.execPath,
      ]);
      let text = '';
      child.stderr.on('data', (chunk) => {
        text += chunk;
      });
      child.on('close', (status) => resolve({ code: status, stderr: text }));
    });
    expect(code).toBe(0);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(stderr).source).toBe('log');
  });

  test('a service that is not there is refused with the names that are alike', async () => {
    await etcdctl(etcd.endpoint, 'put', 'orders.rpc/1', '10.0.0.1:80');
    const { code, stdout, stderr } = await run(['dashboard', 'order.rpc'], { env: { LBCTL_ENDPOINTS: etcd.endpoint } });
    expect([code, stdout]).toEqual([3, '']);
    expect(stderr).toContain('Did you mean orders.rpc?');
  });

  test('an etcd that is not there is no service that is not there', async () => {
    const { code } = await run(['dashboard', 'order.rpc'], { env: { LBCTL_ENDPOINTS: '127.0.0.1:1' } });
    expect(code).toBe(4);
  });

  test('what was recorded is played', async () => {
    const file = path.join(mkdtempSync(path.join(tmpdir(), 'lbctl-record-')), 'frames');
    try {
      expect((await run([...log, '--duration', '500ms', '--record', file, '-o', 'ndjson'])).code).toBe(0);
      const { code, stdout } = await run(['dashboard', '--replay', file, '-o', 'ndjson', '--interval', '100ms']);
      expect(code).toBe(0);
      const played: Frame[] = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(played.length).toBeGreaterThan(2);
      expect(rowOf(played.at(-1), '127.0.0.1:9403')?.load).toBe(8997);
      // Each that was recorded, once.
      const kept = readFileSync(file, 'utf8').trim().split('\n').slice(1);
      expect(played.map(({ at }) => at)).toEqual(kept.map((line) => JSON.parse(line).at));
      const whole = await run(['dashboard', '--replay', file, '--json']);
      expect(JSON.parse(whole.stdout).at).toBe(played.at(-1)?.at);
    } finally {
      rmSync(path.dirname(file), { recursive: true });
    }
  });
});
