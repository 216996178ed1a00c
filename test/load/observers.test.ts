/** What a drain relies on: a client's record against what a server counts itself, while an instance is taken out. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { observeService } from '../../src/core/discovery/observe.js';
import { OverlayKeys } from '../../src/core/discovery/overlay.js';
import { prefixRange } from '../../src/core/etcd/key-text.js';
import type { Etcd } from '../../src/core/etcd/port.js';
import { decodeObserver, type ObserverRecord } from '../../src/core/stats/observer-record.js';
import { readObservers, waitingFor } from '../../src/core/stats/observers.js';
import { run } from '../support/cli.js';
import { open } from '../support/etcd-client.js';
import { type EtcdProcess, startEtcd } from '../support/etcd-process.js';
import { startServerProcess } from '../support/grpc-server-process.js';
import { startObservedClient } from '../support/observed-client.js';
import { until } from '../support/until.js';

const service = 'slow.rpc';
const latencyMs = 800;
let etcd: EtcdProcess;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());
const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function serve() {
  const server = await startServerProcess({ latencyMs, register: { etcd: etcd.endpoint, service } });
  endings.push(() => server.stop());
  return server;
}

interface Seen {
  readonly record: ObserverRecord;
  /** ms since the epoch at which its write was seen. */
  readonly at: number;
}

/** Every write of a record, as it comes. */
async function recordsAsWritten(connection: Etcd): Promise<readonly Seen[]> {
  const range = prefixRange(new OverlayKeys().observersPrefix(service));
  const seen: Seen[] = [];
  const { header } = await connection.list(range);
  const ignored = () => {};
  connection.watch(
    { ranges: [range], afterRevision: header.revision },
    {
      events(events) {
        for (const { kv } of events) {
          const record = decodeObserver(kv.value);
          if (record !== null) seen.push({ record, at: Date.now() });
        }
      },
      ...{ live: ignored, stale: ignored, lost: ignored, denied: ignored },
    },
  );
  return seen;
}

/** The revision at which each address was seen to leave, and when (ms since the epoch). */
async function departures(connection: Etcd) {
  const left = new Map<string, { readonly revision: bigint; readonly at: number }>();
  await observeService(connection, service, ({ type, address, revision }) => {
    if (type === 'PAUSED') left.set(address, { revision, at: Date.now() });
  });
  return left;
}

test('a paused instance: the record passes its revision, no call starts there any more, and counts those in flight down', async () => {
  const [leaving, staying] = await Promise.all([serve(), serve()]);
  const target = `etcd:///${etcd.endpoint.replace('http://', '')}?key=${service}`;
  const client = await startObservedClient({ target, rps: 60 });
  endings.push(() => client.kill());
  const connection = await open(etcd.endpoint);
  const [written, left] = [await recordsAsWritten(connection), await departures(connection)];
  const addresses = [leaving.address];
  const delaysMs: number[] = [];
  for (let round = 1; round <= 3; round++) {
    await leaving.counts({ reset: true });
    await until(async () => (await leaving.counts()).calls > 30, 10_000, 'calls in flight on both');
    // A record that is more than a second old is written at once.
    await until(() => Date.now() - (written.at(-1)?.at ?? 0) > 1000, 5000, 'a quiet second');
    left.clear();
    const pausing = run(['pause', service, leaving.address, '--endpoints', etcd.endpoint]);
    await until(() => left.has(leaving.address), 20_000, 'the pause');
    const pause = left.get(leaving.address) ?? { revision: 0n, at: 0 };
    const applied = () => written.find(({ record }) => record.revision >= pause.revision);
    await until(applied, 2000, 'the record of the revision');
    const { record, at } = applied() ?? { record: null, at: Number.POSITIVE_INFINITY };
    delaysMs.push(at - pause.at);
    // Some 60 / 2 * 0.8 of them.
    expect(record?.inFlight.get(leaving.address)).toBeGreaterThan(10);
    const observers = await readObservers(connection, service);
    expect(waitingFor(observers, { addresses, ...pause })).toMatchObject([{ behind: false, pid: client.pid }]);

    const isDone = async () =>
      waitingFor(await readObservers(connection, service), { addresses, ...pause }).length === 0;
    await until(isDone, latencyMs + 1500, 'the end of the calls in flight');
    const doneAt = Date.now();
    await until(async () => (await staying.counts({ reset: true })).calls > 60, 5000, 'more calls');
    const { times } = await leaving.counts();
    // When the record says so, the last calls are on their way at the latest: loopback and a busy server take some ms.
    expect(times.filter((time) => time > at + 20)).toEqual([]);
    expect(doneAt).toBeGreaterThanOrEqual((times.at(-1) ?? 0) + latencyMs - 20);
    expect((await pausing).code).toBe(0);
    expect((await run(['resume', service, leaving.address, '--endpoints', etcd.endpoint])).code).toBe(0);
  }
  // A busy machine may hold up one of them; waiting for the next write, all of them would take up to a second.
  expect(Math.min(...delaysMs)).toBeLessThan(150);
  expect(Math.max(...delaysMs)).toBeLessThan(600);
  expect(await client.counts()).toMatchObject({ failures: 0 });
  for (const [index, { at }] of written.entries()) expect(at - (written[index - 1]?.at ?? 0)).toBeGreaterThan(950);
});
