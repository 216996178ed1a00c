/**
 * What a client tells of itself over HTTP, and a dashboard of its clients, against servers that count for themselves and
 * the picker's own numbers.
 */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Dashboard } from '../../src/core/dashboard/dashboard.js';
import { ObserversFeed } from '../../src/core/dashboard/observers/observers-feed.js';
import { Registry } from '../../src/core/dashboard/registry.js';
import { Caller } from '../../src/core/grpc/calls/caller.js';
import type { CallMethod } from '../../src/core/grpc/calls/method.js';
import { clientOptions } from '../../src/core/grpc/client/client-options.js';
import { ClientState } from '../../src/core/grpc/policies/client-state.js';
import { systemClock } from '../../src/core/model/clock.js';
import { CallStatistics, runCalls } from '../../src/core/operations/call.js';
import type { StatisticsDocument } from '../../src/core/stats/export/document.js';
import type { InstanceFigures } from '../../src/core/stats/figures.js';
import { readObservers } from '../../src/core/stats/observers.js';
import { open } from '../support/etcd-client.js';
import { type EtcdProcess, startEtcd } from '../support/etcd-process.js';
import { type ServerProcess, startServerProcess } from '../support/grpc-server-process.js';
import { until } from '../support/until.js';

const service = 'figures.rpc';
const latenciesMs = [5, 15, 40];
const rps = 500;
let etcd: EtcdProcess;
let servers: readonly ServerProcess[];
beforeAll(async () => {
  etcd = await startEtcd();
  const register = { etcd: etcd.endpoint, service };
  servers = await Promise.all(latenciesMs.map((latencyMs) => startServerProcess({ latencyMs, register })));
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await etcd.stop();
});
const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const say: CallMethod = { path: '/test.Echo/Say', request: Buffer.alloc(0), verdict: () => null, answers: [] };
const within = (part: number, of: number) => ({ from: of * (1 - part), to: of * (1 + part) });
const signal = new AbortController().signal;

test('at 500 calls a second: rates, shares and calls in flight are the servers’, EWMA and load the picker’s', async () => {
  const state = new ClientState();
  const target = `etcd:///${etcd.endpoint.replace('http://', '')}?key=${service}`;
  const options = { ...clientOptions({ policy: 'p2c_ewma', state, observe: 'shop' }) };
  const caller = new Caller({ target, options, method: say, timeoutMs: 10_000, metadata: [] });
  endings.push(() => caller.close());
  expect(await caller.isReady(5000)).toBe(true);
  const connection = await open(etcd.endpoint);
  const record = async () => (await readObservers(connection, service))[0];
  await until(async () => (await record())?.statistics, 5000, 'a record that tells where statistics are');
  const { statistics = '', id } = (await record()) ?? {};
  const readOnce = async () => {
    const response = await fetch(`http://${statistics}/statistics?service=${service}`);
    const [client] = ((await response.json()) as StatisticsDocument).clients;
    return { atMs: Date.parse(client?.at ?? ''), client, instances: client?.instances ?? [] };
  };
  // The text that others got just now is told again: what is compared is taken after it was asked for.
  const read = async () => {
    const askedMs = Date.now();
    for (;;) {
      const found = await readOnce();
      if (found.atMs > askedMs) return found;
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const feed = new ObserversFeed({ etcd: connection, service, view: null, intervalMs: 100, clock: systemClock });
  const registry = await Registry.open(connection, service);
  const dashboard = new Dashboard({ service, context: '', registry, feed, clock: systemClock });
  endings.push(() => dashboard.close());
  const rowOf = ({ address }: ServerProcess) => dashboard.frame().rows.find((row) => row.address === address);
  const call = (plan: { count: number | null; durationMs: number | null; rps: number | null }) =>
    runCalls({ ...plan, concurrency: 2000 }, () => caller.call(), new CallStatistics(), { clock: systemClock, signal });
  const of = (instances: readonly InstanceFigures[], { address }: ServerProcess) => {
    const found = instances.find((instance) => instance.address === address);
    if (found === undefined) throw new Error(`${address} is not told`);
    return found;
  };

  // Connections and averages settle first; what is compared is ten seconds in the middle.
  const calls = call({ count: null, durationMs: 11_500, rps });
  const startedAt = performance.now();
  await until(() => performance.now() - startedAt > 11_000, 15_000, 'ten seconds of calls');
  const middle = await read();
  const shown = servers.map(rowOf);
  await calls;
  expect(middle.client).toMatchObject({ id, client: 'shop', service, policy: 'p2c_ewma', pid: process.pid });
  const counted = await Promise.all(servers.map((server) => server.counts()));
  const [fromMs, forMs] = [middle.atMs - 9950, 9950];
  const real = counted.map(({ times }) => times.filter((time) => time > fromMs && time <= middle.atMs).length);
  const told = servers.map((server) => of(middle.instances, server).windows[10]);
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  const [realTotal, toldTotal] = [sum(real), sum(told.map(({ picks }) => picks))];
  // A busy machine holds some calls back; what did come has to be told all the same.
  expect(realTotal / (forMs / 1000)).toBeGreaterThan(rps * 0.7);
  for (const [index, { picks, picksPerSecond, errors }] of told.entries()) {
    const rate = within(0.02, (real[index] ?? 0) / (forMs / 1000));
    expect(picksPerSecond).toBeGreaterThan(rate.from);
    expect(picksPerSecond).toBeLessThan(rate.to);
    expect(Math.abs(picks / toldTotal - (real[index] ?? 0) / realTotal)).toBeLessThan(0.02);
    expect(errors).toBe(0);
    expect(shown[index]?.callsPerSecond).toBeGreaterThan(rate.from);
    expect(shown[index]?.callsPerSecond).toBeLessThan(rate.to);
    expect(Math.abs((shown[index]?.share ?? 0) - (real[index] ?? 0) / realTotal)).toBeLessThan(0.02);
    expect(shown[index]).toMatchObject({ state: 'up', health: 'healthy', errorRate: 0 });
  }

  // Nothing is under way: every call is counted where it came, and what the policy keeps stands still.
  const atRest = await read();
  const own = (instances: readonly InstanceFigures[]) =>
    instances.map(({ address, ewmaMs, load, success, circuit, inFlight, picks, forcePicks }) => {
      return { address, latencyMs: ewmaMs, load, success, circuit, inFlight, picks, forcePicks };
    });
  const learnt = () => state.inspect().map(({ failures: _, ...view }) => view);
  for (const [index, server] of servers.entries()) {
    const { codes, picks, inFlight } = of(atRest.instances, server);
    const count = counted[index]?.calls;
    expect({ codes, picks, inFlight }).toEqual({ codes: { OK: count }, picks: count, inFlight: 0 });
  }
  expect(own(atRest.instances)).toEqual(learnt());

  // Calls that no server answers for now: each knows what it holds.
  await Promise.all(servers.map((server) => server.behave({ latencyMs: 3000 })));
  await Promise.all(servers.map((server) => server.counts({ reset: true })));
  const held = call({ count: 100, durationMs: null, rps: 2000 });
  const holding = async () => Promise.all(servers.map(async (server) => (await server.counts()).calls));
  await until(async () => sum(await holding()) === 100, 2500, 'all calls to have arrived');
  const busy = await read();
  expect(servers.map((server) => of(busy.instances, server).inFlight)).toEqual(await holding());
  expect(own(busy.instances)).toEqual(learnt());
  const isShown = () => servers.every((server) => rowOf(server)?.inFlight === of(busy.instances, server).inFlight);
  await until(isShown, 2000, 'the dashboard to show the calls in flight');
  for (const { address, load, latencyMs } of state.inspect()) {
    const row = rowOf({ address } as ServerProcess);
    expect(row?.load).toBe(load);
    expect(row?.ewmaMs).toBeCloseTo(latencyMs ?? Number.NaN, 6);
  }
  await held;
});
