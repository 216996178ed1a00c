import { describe, expect, test } from 'vitest';
import { startEtcd } from '../../support/etcd-process.js';
import type { TrueEvent } from '../../support/etcd-truth.js';
import { startProxy } from '../../support/tcp-proxy.js';
import { seconds } from '../figures.js';
import type { Fleet } from '../fleet.js';
import { cleanUp, expectBalanced, expectGoodEnd, figures, fleet, outsider } from '../run.js';

/** A fleet whose watch and subscriber reach etcd over a proxy; the publishers reach it directly. */
async function behindProxy(service: string) {
  const etcd = await startEtcd();
  cleanUp(() => etcd.stop());
  const proxy = await startProxy(etcd.port);
  cleanUp(() => proxy.close());
  const live = await fleet({ service, readers: [proxy.address], writers: [etcd.endpoint], truth: etcd.endpoint });
  return { proxy, live };
}

const put = (live: Fleet, number: number, value: string | Buffer = outsider(number).address) =>
  live.truth.put(live.prefix + outsider(number).id, value);

/** How many of these keys the watch told of in a line of their own. */
function toldOf(live: Fleet, numbers: readonly number[]): number {
  const keys = new Set(live.watch.lines.filter(({ type }) => type === 'ADDED').map(({ key }) => key));
  return numbers.filter((number) => keys.has(live.prefix + outsider(number).id)).length;
}

describe('a watch cut off from etcd', () => {
  test('dropped again and again before the backlog comes: each event once', async () => {
    const { proxy, live } = await behindProxy('dropped');
    proxy.cut({ refuse: true });
    const numbers = [1, 2, 3, 4, 5, 6];
    for (const number of numbers) await put(live, number, Buffer.alloc(2000, 'x'));
    proxy.heal();
    // The confirmation of the watch comes through and names a revision above the backlog; the backlog does not.
    proxy.limitAnswers(1000, 4);
    const ms = await live.converged(performance.now());
    expectBalanced(live, live.balance(await live.truth.history(live.prefix, 1n)));
    figures.record('drop before the backlog', `${toldOf(live, numbers)} of 6, ${seconds(ms)}`);
    await expectGoodEnd(live);
  });

  test('a backlog of 6 MB, cut off in the middle of its delivery', async () => {
    const { proxy, live } = await behindProxy('backlog');
    proxy.cut({ refuse: true });
    const numbers = [1, 2, 3, 4, 5, 6];
    for (const number of numbers) await put(live, number, Buffer.alloc(1_000_000, 'x'));
    proxy.heal();
    proxy.limitAnswers(2_500_000, 2);
    const ms = await live.converged(performance.now());
    expectBalanced(live, live.balance(await live.truth.history(live.prefix, 1n)));
    expect(toldOf(live, numbers)).toBe(6);
    figures.record('6 MB backlog', `6 of 6, ${seconds(ms)}`);
    await expectGoodEnd(live);
  });

  test('compacted past it: the difference tells what happened, and the watch goes on', async () => {
    const { proxy, live } = await behindProxy('compacted');
    const history: TrueEvent[] = [...(await live.truth.history(live.prefix, 1n))];
    cleanUp(await live.truth.follow(live.prefix, (event) => history.push(event)));
    for (const number of [1, 2, 3, 4]) await put(live, number);
    await live.settled(performance.now() + 5000);
    proxy.cut({ refuse: true });
    for (let number = 5; number <= 20; number++) await put(live, number);
    await live.truth.remove(live.prefix + outsider(1).id);
    await put(live, 2, '10.9.9.2:9002');
    // Gone and back, and there and gone: the difference shows the first as a change at most, the second not at all.
    await live.truth.remove(live.prefix + outsider(3).id);
    await put(live, 3);
    await live.truth.remove(live.prefix + outsider(20).id);
    await live.truth.compact(await live.truth.revision());
    proxy.heal();
    const ms = await live.converged(performance.now());
    const resyncs = live.watch.lines.filter(({ type }) => type === 'RESYNC');
    expect(resyncs.map(({ cause }) => cause)).toEqual([expect.stringContaining('compacted')]);
    for (let number = 21; number <= 40; number++) await put(live, number);
    await live.settled(performance.now() + 5000);
    const balance = live.balance(history);
    expectBalanced(live, balance, { lossless: false });
    const later = Array.from({ length: 20 }, (_, i) => 21 + i);
    expect(toldOf(live, later)).toBe(20);
    figures.record('compaction while away', `20 of 20, ${balance.covered} by difference after ${seconds(ms)}`);
    await expectGoodEnd(live);
  });
});
