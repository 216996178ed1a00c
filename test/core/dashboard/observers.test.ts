/** The observers source against real HTTP servers, and records in a registry in memory. */
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { decodeStatistics } from '../../../src/core/dashboard/observers/decode.js';
import { ObserversFeed } from '../../../src/core/dashboard/observers/observers-feed.js';
import { systemClock } from '../../../src/core/model/clock.js';
import { encodeObserver } from '../../../src/core/stats/observer-record.js';
import { MemoryStore } from '../../support/memory-etcd.js';
import { clientFigures, instanceFigures, startStatisticsServer, windows } from '../../support/statistics-server.js';
import { until } from '../../support/until.js';

const withinMs = 10_000;
const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const calls = (perSecond: number) => ({ windows: windows({ picksPerSecond: perSecond, calls: perSecond * 10 }) });

function registry() {
  const store = new MemoryStore(systemClock);
  const record = (id: string, statistics: string, host = hostname()) => {
    const client = id.replace(/-\w+$/, '');
    const text = { host, pid: 1, client, policy: 'p2c_ewma', revision: 1n, inFlight: new Map(), statistics };
    store.put(`lbctl/v1/observers/shop.rpc/${id}`, encodeObserver(text));
  };
  const feed = (view: string | null = null) => {
    const opened = new ObserversFeed({
      etcd: store.client(),
      service: 'shop.rpc',
      view,
      intervalMs: 100,
      clock: systemClock,
    });
    endings.push(() => opened.close());
    return opened;
  };
  return { store, record, feed };
}

async function server(...clients: Parameters<typeof startStatisticsServer>[0] & object) {
  const started = await startStatisticsServer(clients);
  endings.push(() => started.close());
  return started;
}

describe('observers', () => {
  test('add up, one can be looked through, and one stream serves all clients of a process', async () => {
    const { record, feed } = registry();
    const one = await server(
      clientFigures('shop-a', [instanceFigures('10.0.0.1:80', calls(3))]),
      clientFigures('till-b', [instanceFigures('10.0.0.1:80', calls(4))], { policy: 'random' }),
      clientFigures('other-x', [instanceFigures('10.0.0.1:80', calls(100))], { service: 'other.rpc' }),
    );
    const two = await server(clientFigures('shop-c', [instanceFigures('10.0.0.1:80', calls(5))]));
    record('shop-a', one.address);
    record('till-b', one.address);
    record('shop-c', two.address);
    const opened = feed();
    const rate = () => opened.figures().get('10.0.0.1:80')?.callsPerSecond;
    await until(() => rate() === 12, withinMs, 'the sum');
    expect([opened.observers(), opened.policy(), opened.notices()]).toEqual([3, 'p2c_ewma, random', []]);
    expect(opened.views()).toEqual(['shop-a', 'shop-c', 'till-b']);
    expect([one.open(), two.open()]).toEqual([1, 1]);
    expect(one.asked[0]?.toString()).toBe('service=shop.rpc&intervalMs=100');
    opened.select('till-b');
    expect([rate(), opened.observers(), opened.view]).toEqual([4, 1, 'till-b']);
    // Several may have one name.
    opened.select('shop');
    expect([rate(), opened.observers()]).toEqual([8, 2]);
    opened.select(null);
    expect(rate()).toBe(12);
    expect(opened.unlisted()).toMatchObject({ callsPerSecond: 0, inFlight: 0 });
  });

  test('that serve nothing, never answer, or send something else are named, and make no zeros', async () => {
    const { record, feed } = registry();
    const mute = createServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((resolve) => mute.once('listening', resolve));
    endings.push(() => mute.close());
    const port = (mute.address() as { port: number }).port;
    const [garbage, refusing, endless] = await Promise.all([server(), server(), server()]);
    garbage.fault = 'garbage';
    refusing.fault = 'refused';
    endless.fault = 'endless';
    record('quiet-1', '');
    record('mute-2', `127.0.0.1:${port}`);
    record('dead-3', '127.0.0.1:9');
    record('garbage-4', garbage.address);
    record('refusing-5', refusing.address);
    record('evil-6', '127.0.0.1:80@10.0.0.1:90/x?');
    record('endless-7', endless.address);
    const opened = feed();
    const told = (pattern: RegExp) => opened.notices().some((notice) => pattern.test(notice));
    for (const pattern of [
      /^quiet-1 serves no statistics$/,
      /^mute-2 at 127\.0\.0\.1:\d+ has not answered for \d+s: no answer$/,
      /^dead-3 at 127\.0\.0\.1:9 has not answered for \d+s: .*ECONNREFUSED/,
      /^garbage-4 at .* has not answered for .*: it sends something else than statistics$/,
      /^refusing-5 at .* has not answered for .*: HTTP 503$/,
      /^evil-6 at .* has not answered for .*: .* is not host:port$/,
      /^endless-7 at .* has not answered for/,
    ]) {
      await until(() => told(pattern), withinMs, String(pattern));
    }
    expect([...opened.figures()]).toEqual([]);
    expect([opened.observers(), opened.policy(), opened.unlisted().callsPerSecond]).toEqual([0, null, null]);
  });

  test('on the loopback interface of another machine are named, and not taken for who has that address here', async () => {
    const { record, feed } = registry();
    const here = await server(clientFigures('shop-a', [instanceFigures('10.0.0.1:80', calls(3))]));
    const never = await server(clientFigures('never-a', []));
    record('shop-a', here.address);
    record('shop-b', here.address, 'web-8');
    record('shop-c', `localhost:${here.address.split(':')[1]}`, 'web-9');
    record('never-d', never.address, 'web-8');
    const opened = feed();
    await until(() => opened.figures().get('10.0.0.1:80')?.callsPerSecond === 3, withinMs, 'figures');
    expect(opened.notices()).toEqual([
      "never-d, shop-b, shop-c serve statistics on the loopback interface of web-8, web-9 only: statistics: 'HOST:PORT' there makes them readable from here",
    ]);
    expect([here.open(), never.asked.length]).toEqual([1, 0]);
  });

  test('whose address answers for others are named', async () => {
    const { store, record, feed } = registry();
    const one = await server(clientFigures('shop-a', [instanceFigures('10.0.0.1:80', calls(3))]));
    record('shop-a', one.address);
    record('shop-b', one.address);
    const opened = feed();
    const missing = `shop-b is not among the clients that answer at ${one.address}`;
    await until(() => opened.notices().includes(missing), withinMs, 'a word');
    expect(opened.notices()).toEqual([missing]);
    store.delete('lbctl/v1/observers/shop.rpc/shop-b');
    await until(() => opened.notices().length === 0, withinMs, 'silence');
  });

  test('that fall silent count no more and are named, and count again when they are back', async () => {
    const { record, feed } = registry();
    const one = await server(clientFigures('shop-a', [instanceFigures('10.0.0.1:80', calls(3))]));
    const two = await server(clientFigures('shop-b', [instanceFigures('10.0.0.1:80', calls(5))]));
    record('shop-a', one.address);
    record('shop-b', two.address);
    const opened = feed();
    const rate = () => opened.figures().get('10.0.0.1:80')?.callsPerSecond;
    await until(() => rate() === 8, withinMs, 'both');
    two.fault = 'silent';
    await until(() => rate() === 3, withinMs, 'the one that talks');
    expect(opened.notices()).toEqual([expect.stringMatching(/^shop-b at .* has been silent for \d+s/)]);
    two.fault = 'none';
    two.cut();
    await until(() => rate() === 8, withinMs, 'both again');
    expect(opened.notices()).toEqual([]);
  });

  test('come and go; without any that is said', async () => {
    const { store, record, feed } = registry();
    const opened = feed();
    await until(() => opened.notices().length > 0, withinMs, 'a word');
    expect(opened.notices()).toEqual(['no client of this service publishes an observer record']);
    opened.select('till');
    expect(opened.notices()).toEqual(['no client named till observes this service']);
    opened.select(null);
    const one = await server(clientFigures('shop-a', [instanceFigures('10.0.0.1:80', calls(3))]));
    record('shop-a', one.address);
    await until(() => opened.figures().size === 1, withinMs, 'the new one');
    store.fault = 'down';
    await until(() => opened.notices().some((notice) => /records cannot be read/.test(notice)), withinMs, 'the outage');
    expect(opened.figures().get('10.0.0.1:80')?.callsPerSecond).toBe(3);
    store.fault = 'none';
    store.delete('lbctl/v1/observers/shop.rpc/shop-a');
    await until(() => opened.figures().size === 0 && one.open() === 0, withinMs, 'nobody');
  });

  test('that publish a moment after the dashboard opened are heard a moment later', async () => {
    const { store, record, feed } = registry();
    const one = await server(clientFigures('shop-a', [instanceFigures('10.0.0.1:80', calls(3))]));
    const startedAt = performance.now();
    const opened = feed();
    await until(() => opened.notices().length > 0, withinMs, 'the first look');
    record('shop-a', one.address);
    await until(() => opened.figures().size === 1, 1000, 'figures');
    const lists = () => store.calls.filter((call) => call.startsWith('list')).length;
    await until(() => lists() === 5, withinMs, 'the fifth look');
    expect(performance.now() - startedAt).toBeGreaterThan(2500);
  });

  test('tell the picks of the instance that is looked at, newest first', async () => {
    const { record, feed } = registry();
    const pick = (at: string, chosen: string) => ({
      ...{ at, chosen, isForced: false },
      compared: [
        { address: '10.0.0.1:80', load: 5, inFlight: 0 },
        { address: '10.0.0.2:80', load: 6, inFlight: 1 },
      ],
    });
    const trace = [pick('2026-11-30T00:00:01Z', '10.0.0.1:80'), pick('2026-11-30T00:00:02Z', '10.0.0.2:80')];
    const one = await server(clientFigures('shop-a', [instanceFigures('10.0.0.1:80')], { trace }));
    record('shop-a', one.address);
    const opened = feed();
    await until(() => opened.figures().size === 1, withinMs, 'figures');
    expect(opened.detail('10.0.0.1:80').trace).toEqual([]);
    opened.look('10.0.0.1:80');
    await until(() => opened.detail('10.0.0.1:80').trace.length === 2, withinMs, 'the trace');
    expect(opened.detail('10.0.0.1:80').trace.map(({ chosen }) => chosen)).toEqual(['10.0.0.2:80', '10.0.0.1:80']);
    expect(opened.figures().size).toBe(1);
    await until(() => one.open() === 1, withinMs, 'one stream');
  });

  test('are let go at once', async () => {
    const { record, feed } = registry();
    const one = await server(clientFigures('shop-a', []));
    record('shop-a', one.address);
    const opened = feed();
    await until(() => one.open() === 1, withinMs, 'a stream');
    const startedAt = performance.now();
    await opened.close();
    expect(performance.now() - startedAt).toBeLessThan(500);
    await until(() => one.open() === 0, withinMs, 'no stream');
  });
});

describe('a line of statistics', () => {
  const good = { clients: [clientFigures('a-1', [instanceFigures('10.0.0.1:80', calls(3))])] };

  test('comes back as it was sent', () => {
    expect(decodeStatistics(JSON.stringify(good))).toEqual(good.clients);
  });

  test.each([
    ['no JSON', '{'],
    ['no clients', '{}'],
    ['a client without a service', '{"clients": [{"instances": []}]}'],
    ['an instance without windows', '{"clients": [{"service": "s", "instances": [{"address": "a"}]}]}'],
    ['null', 'null'],
  ])('that is none is refused: %s', (_, line) => {
    expect(decodeStatistics(line)).toBeNull();
  });

  test('with wrong numbers has none in their place', () => {
    const [client] = good.clients;
    const instances = [{ ...instanceFigures('a'), ewmaMs: 'fast', load: null, inFlight: -3, circuit: 'molten' }];
    const [decoded] = decodeStatistics(JSON.stringify({ clients: [{ ...client, instances }] })) ?? [];
    expect(decoded?.instances[0]).toMatchObject({ ewmaMs: null, load: null, inFlight: 0, circuit: null });
  });
});
