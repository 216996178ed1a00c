import { describe, expect, test } from 'vitest';
import { startEtcd } from '../../support/etcd-process.js';
import { seconds } from '../figures.js';
import { type Fleet, pause, waitFor } from '../fleet.js';
import { cleanUp, expectBalanced, expectGoodEnd, figures, fleet, outsider } from '../run.js';

async function server() {
  const etcd = await startEtcd();
  cleanUp(() => etcd.stop());
  return etcd;
}

async function write(live: Fleet, from: number, to: number): Promise<void> {
  for (let i = from; i <= to; i++) await live.truth.put(live.prefix + outsider(i).id, outsider(i).address);
}

const leases = (live: Fleet) => Promise.all(live.publishers.map(({ address }) => live.leaseOf(address)));
const told = (live: Fleet, type: string) => live.watch.lines.filter((line) => line.type === type).length;

describe('etcd away', () => {
  test('down for 3 s: everything goes on under the old leases', async () => {
    const etcd = await server();
    const live = await fleet({ service: 'away3', readers: [etcd.endpoint], truth: etcd.endpoint });
    const before = await leases(live);
    await etcd.kill();
    await waitFor('the watch to say STALE', 3000, () => told(live, 'STALE') === 1);
    await pause(3000);
    await etcd.restart();
    const healthyAt = await live.truth.healthy();
    await write(live, 1, 5);
    const ms = await live.converged(healthyAt);
    expect(await leases(live)).toEqual(before);
    expectBalanced(live, live.balance(await live.truth.history(live.prefix, 1n)));
    figures.record('etcd down for 3 s', `all agree ${seconds(ms)} after healthy, leases kept`);
    await expectGoodEnd(live);
  });

  test.each([
    { downSeconds: 20, ttlSeconds: 5, fault: 'etcd down for 20 s, TTL 5 s' },
    // A TTL shorter than a grant is tried for: the new lease can be over before anybody holds it.
    { downSeconds: 10, ttlSeconds: 2, fault: 'etcd down for 10 s, TTL 2 s' },
  ] as const)(
    'down for $downSeconds s: leases of $ttlSeconds s run out, and each publisher comes back once',
    async (away) => {
      const { downSeconds, ttlSeconds, fault } = away;
      const etcd = await server();
      const options = { readers: [etcd.endpoint], truth: etcd.endpoint, ttlSeconds };
      const live = await fleet({ service: `away${downSeconds}`, ...options });
      const before = await leases(live);
      await etcd.kill();
      await pause(downSeconds * 1000);
      // The last known set keeps serving, marked stale.
      expect(told(live, 'REMOVED')).toBe(0);
      expect(told(live, 'STALE')).toBe(1);
      const known = live.publishers.map(({ address }) => address);
      expect(live.subscriber.view()).toEqual({ isStale: true, addresses: known });
      await etcd.restart();
      const healthyAt = await live.truth.healthy();
      await write(live, 1, 5);
      const ms = await live.converged(healthyAt);
      for (const lease of await leases(live)) expect(before).not.toContain(lease);
      expectBalanced(live, live.balance(await live.truth.history(live.prefix, 1n)));
      figures.record(fault, `all agree ${seconds(ms)} after healthy, one key each`);
      await expectGoodEnd(live);
    },
  );

  test('hung by SIGSTOP for 15 s', async () => {
    const etcd = await server();
    cleanUp(() => etcd.resume());
    const live = await fleet({ service: 'hung15', readers: [etcd.endpoint], truth: etcd.endpoint });
    etcd.suspend();
    // It answers nothing and refuses nothing: only a watch that asks for a sign of life can tell.
    await waitFor('the watch to say STALE', 7000, () => told(live, 'STALE') === 1);
    await pause(15_000 - 7000);
    expect(told(live, 'REMOVED')).toBe(0);
    etcd.resume();
    const healthyAt = await live.truth.healthy();
    await write(live, 1, 5);
    const ms = await live.converged(healthyAt);
    expectBalanced(live, live.balance(await live.truth.history(live.prefix, 1n)));
    figures.record('etcd hung for 15 s', `all agree ${seconds(ms)} after healthy`);
    await expectGoodEnd(live);
  });

  test('restarted with an empty store: a new history that soon passes the old revision', async () => {
    const etcd = await server();
    const live = await fleet({ service: 'wiped', readers: [etcd.endpoint], truth: etcd.endpoint });
    await write(live, 1, 20);
    await live.settled(performance.now() + 5000);
    expectBalanced(live, live.balance(await live.truth.history(live.prefix, 1n)));
    const from = live.watch.lines.length;
    await etcd.restart({ wipe: true });
    const healthyAt = await live.truth.healthy();
    await write(live, 101, 160);
    const ms = await live.converged(healthyAt);
    const balance = live.balance(await live.truth.history(live.prefix, 1n), { from, after: 0n });
    expectBalanced(live, balance, { lossless: false });
    const seen = balance.told + balance.covered >= 60 ? 'all' : `${balance.told + balance.covered}`;
    figures.record('etcd restarted with an empty store', `${seen}, ${seconds(ms)} after healthy`);
    await expectGoodEnd(live);
  });
});
