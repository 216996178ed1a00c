/**
 * Policies in real gRPC calls: a real etcd, servers in processes of their own, clients through the real resolver. What a
 * server counts itself is held against what the client says.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Caller } from '../../src/core/grpc/calls/caller.js';
import type { CallMethod } from '../../src/core/grpc/calls/method.js';
import { type ClientSettings, clientOptions } from '../../src/core/grpc/client/client-options.js';
import { ClientState } from '../../src/core/grpc/policies/client-state.js';
import type { Attempt } from '../../src/core/grpc/policies/managed-balancer.js';
import { systemClock } from '../../src/core/model/clock.js';
import { type CallPlan, CallStatistics, runCalls } from '../../src/core/operations/call.js';
import { run } from '../support/cli.js';
import { type EtcdProcess, startEtcd } from '../support/etcd-process.js';
import { type ServerOptions, type ServerProcess, startServerProcess } from '../support/grpc-server-process.js';
import { until } from '../support/until.js';

const internal = 13;
let etcd: EtcdProcess;
let hostPort = '';
const cleanups: Array<() => unknown> = [];

beforeAll(async () => {
  etcd = await startEtcd();
  hostPort = etcd.endpoint.replace('http://', '');
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(() => etcd.stop());

async function serve(service: string, options: ServerOptions & { weight?: number } = {}): Promise<ServerProcess> {
  const { weight = 1, ...more } = options;
  const server = await startServerProcess({
    ...more,
    register: { etcd: hostPort, service, options: { weight, ttlSeconds: 5 } },
  });
  cleanups.push(() => server.stop());
  return server;
}

interface TimedAttempt extends Attempt {
  /** Monotonic ms at which it ended. */
  readonly endedMs: number;
}

const say: CallMethod = { path: '/test.Echo/Say', request: Buffer.alloc(0), verdict: () => null, answers: [] };

async function client(service: string, settings: ClientSettings, method = say) {
  const attempts: TimedAttempt[] = [];
  const state = new ClientState({
    onAttempt: (attempt) => attempts.push({ ...attempt, endedMs: performance.now() }),
  });
  const target = `etcd:///${hostPort}?key=${service}`;
  const caller = new Caller({
    target,
    options: { ...clientOptions({ ...settings, state }), 'grpc.use_local_subchannel_pool': 1 },
    method,
    timeoutMs: 5000,
    metadata: [],
  });
  cleanups.push(() => caller.close());
  expect(await caller.isReady(5000)).toBe(true);
  const at = (plan: Partial<CallPlan>, signal: AbortSignal = new AbortController().signal) => {
    const statistics = new CallStatistics();
    const whole = { count: null, durationMs: null, rps: null, concurrency: 2000, ...plan };
    const over = runCalls(whole, () => caller.call(), statistics, { clock: systemClock, signal });
    return { statistics, over };
  };
  return { attempts, state, caller, at };
}

const countOf = (attempts: readonly Attempt[], address: string) =>
  attempts.filter((attempt) => attempt.address === address).length;

describe('weights', () => {
  test('5 and 1: of the first 7 calls 5 or 6 go to the first, 600 go exactly 500:100, at most 5 in a row', async () => {
    const heavy = await serve('weights.rpc', { weight: 5 });
    const light = await serve('weights.rpc', { weight: 1 });
    const { attempts, at } = await client('weights.rpc', { policy: 'weighted_round_robin' });
    await at({ count: 7, concurrency: 1 }).over;
    expect([5, 6]).toContain(countOf(attempts, heavy.address));
    await at({ count: 593, concurrency: 1 }).over;
    expect([countOf(attempts, heavy.address), countOf(attempts, light.address)]).toEqual([500, 100]);
    const order = attempts.map(({ address }) => (address === heavy.address ? 'H' : 'L')).join('');
    // Rounds of six meet: what ends one and begins the next is no row of its own.
    expect(Math.max(...order.split('L').map((row) => row.length))).toBeLessThanOrEqual(5);
    expect([(await heavy.counts()).calls, (await light.counts()).calls]).toEqual([500, 100]);
  });
});

describe('consistent_hash', () => {
  test('one user, one instance, over 1,000 calls of two client processes', async () => {
    const servers = await Promise.all([1, 2, 3].map(() => serve('users.rpc')));
    const args = ['call', 'users.rpc', '--endpoints', hostPort, '--policy', 'consistent_hash', '--key', 'user:42'];
    const method = ['--method', 'test.Echo/Say', '--proto', 'test/fixtures/echo.proto', '-n', '500', '--json'];
    const ended = await Promise.all([run([...args, ...method]), run([...args, ...method])]);
    for (const { code, stderr } of ended) expect([code, stderr]).toEqual([0, '']);
    const counts = await Promise.all(servers.map((server) => server.counts()));
    expect(counts.map(({ calls }) => calls).sort()).toEqual([0, 0, 1000]);
  });

  test('an instance that joins ten takes keys, and moves none between the others', async () => {
    const servers = await Promise.all(Array.from({ length: 10 }, () => serve('ten.rpc')));
    const { attempts, caller, state } = await client('ten.rpc', { policy: 'consistent_hash' });
    await until(() => state.inspect().length === 10, 5000, 'all ten to be known');
    const owners = async () => {
      attempts.length = 0;
      for (let i = 0; i < 300; i++) await caller.call([['x-user-id', `user:${i}`]]);
      return attempts.map(({ address }) => address);
    };
    const before = await owners();
    expect(new Set(before).size).toBe(10);
    const eleventh = await serve('ten.rpc');
    await until(() => state.inspect().some(({ address }) => address === eleventh.address), 5000, 'the eleventh');
    const after = await owners();
    for (const [i, owner] of after.entries()) if (owner !== eleventh.address) expect(owner).toBe(before[i]);
    expect(after).toContain(eleventh.address);
    expect(servers.some(({ address }) => after.includes(address))).toBe(true);
  });
});

describe('failures', () => {
  test('kill -9 under 500 rps: retried calls all succeed, nobody goes there any more, and it is used again when back', async () => {
    // At its death most calls wait for their answer: one whose headers have come is no longer retried, by gRPC's rules.
    const slow = { latencyMs: 20 };
    const [one, two, third] = await Promise.all([1, 2, 3].map(() => serve('killed.rpc', slow)));
    if (!one || !two || !third) throw new Error('no servers');
    const retry = { methods: ['test.Echo/Say'] };
    const { attempts, at } = await client('killed.rpc', { policy: 'p2c_ewma', retry });
    const stop = new AbortController();
    const { statistics, over } = at({ rps: 500, durationMs: 30_000 }, stop.signal);
    await until(
      () => [one, two, third].every(({ address }) => countOf(attempts, address) > 50),
      10_000,
      'traffic to all',
    );
    const { port, address } = third;
    await third.kill();
    const killedMs = performance.now();
    await until(() => performance.now() - killedMs > 1500, 5000);
    const late = attempts.filter((attempt) => attempt.address === address && attempt.endedMs > killedMs + 500);
    expect(late).toEqual([]);
    const again = await serve('killed.rpc', { port, ...slow });
    const from = attempts.length;
    await until(() => countOf(attempts.slice(from), again.address) > 20, 15_000, 'traffic to the one that is back');
    stop.abort();
    await over;
    expect(again.address).toBe(address);
    expect(statistics.errors, `${statistics.lastFailure} ${JSON.stringify(statistics.figures(0).outcomes)}`).toBe(0);
    expect(statistics.calls).toBeGreaterThan(1000);
  });

  test('three times INTERNAL: out for 10 s, then exactly one probe', async () => {
    const [well, ill] = await Promise.all([serve('ill.rpc'), serve('ill.rpc', { code: internal })]);
    const { attempts, at } = await client('ill.rpc', { policy: 'round_robin' });
    const ofIll = () => attempts.filter(({ address }) => address === ill.address);
    // One after the other: else a fourth call could be on its way when the third answer comes.
    await at({ count: 6, concurrency: 1 }).over;
    expect(ofIll()).toHaveLength(3);
    const stop = new AbortController();
    const { over } = at({ rps: 100, durationMs: 30_000 }, stop.signal);
    const outSinceMs = ofIll()[2]?.endedMs ?? 0;
    await until(() => ofIll().length > 3, 15_000, 'the probe');
    const probeMs = ofIll()[3]?.endedMs ?? 0;
    expect(probeMs - outSinceMs).toBeGreaterThan(9_950);
    expect(probeMs - outSinceMs).toBeLessThan(11_000);
    // It failed: the next one would come 10 s later.
    await until(() => performance.now() - probeMs > 1500, 5000);
    expect(ofIll()).toHaveLength(4);
    stop.abort();
    await over;
    expect((await ill.counts()).calls).toBe(4);
    expect(countOf(attempts, well.address)).toBeGreaterThan(900);
  });
});

describe('load', () => {
  test('10, 10 and 1000 ms at 200 rps: p2c_ewma gives the slow one under 1.5 %, round_robin a third', async () => {
    const [, , slow] = await Promise.all([10, 10, 1000].map((latencyMs) => serve('slow.rpc', { latencyMs })));
    const runs = await Promise.all(['p2c_ewma', 'round_robin'].map((policy) => client('slow.rpc', { policy })));
    const startedMs = performance.now();
    await Promise.all(runs.map(({ at }) => at({ rps: 200, durationMs: 12_000 }).over));
    // By the start of the calls: the first second without an answer is a weakness that go-zero has as well.
    const shares = runs.map(({ attempts }) => {
      const later = attempts.filter(({ endedMs, latencyMs }) => endedMs - latencyMs - startedMs > 3000);
      expect(later.length).toBeGreaterThan(1500);
      return countOf(later, slow?.address ?? '') / later.length;
    });
    expect(shares[0]).toBeLessThan(0.015);
    expect(shares[1]).toBeGreaterThan(0.32);
    expect(shares[1]).toBeLessThan(0.35);
  });
});

describe('pausing', () => {
  test('an instance paused by lbctl gets its last call within 100 ms of the end of the command, and no call fails', async () => {
    const [paused, other] = await Promise.all([serve('paused.rpc'), serve('paused.rpc')]);
    const { attempts, at } = await client('paused.rpc', { policy: 'p2c_ewma' });
    const stop = new AbortController();
    const { statistics, over } = at({ rps: 500, durationMs: 30_000 }, stop.signal);
    await until(() => [paused, other].every(({ address }) => countOf(attempts, address) > 100), 10_000, 'traffic');
    const ended = await run(['pause', 'paused.rpc', paused.address, '--endpoints', hostPort]);
    const endedAt = Date.now();
    expect([ended.code, ended.stderr]).toEqual([0, expect.any(String)]);
    const from = attempts.length;
    await until(() => attempts.length > from + 500, 10_000, 'another second of traffic');
    stop.abort();
    await over;
    const { times } = await paused.counts();
    expect(Math.max(...times) - endedAt).toBeLessThan(100);
    expect(statistics.errors).toBe(0);
  });
});

describe('targets', () => {
  test.each([
    ['legacy', () => `etcd://${hostPort}/targets.rpc`],
    ['new', () => `etcd:///${hostPort}?key=targets.rpc`],
    ['discov', () => `discov:///${hostPort}?key=targets.rpc`],
    ['several endpoints', () => `etcd:///127.0.0.1:1,${hostPort}?key=targets.rpc`],
  ])('%s: finds the service', async (_, target) => {
    const server = await serve('targets.rpc');
    const ended = await run(['call', target(), '-n', '3', '--json']);
    expect(ended.stderr).toBe('');
    expect(JSON.parse(ended.stdout).nodes).toMatchObject([{ address: server.address, calls: 3 }]);
  });
});
