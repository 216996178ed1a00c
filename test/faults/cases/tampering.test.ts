import { describe, expect, test } from 'vitest';
import { run } from '../../support/cli.js';
import { etcdctl, startEtcd } from '../../support/etcd-process.js';
import type { TrueEvent } from '../../support/etcd-truth.js';
import { seconds } from '../figures.js';
import { type Fleet, waitFor } from '../fleet.js';
import { cleanUp, expectBalanced, expectGoodEnd, figures, fleet } from '../run.js';

const ttlSeconds = 5;

function take(live: Fleet) {
  const publisher = live.publishers.pop();
  if (publisher === undefined) throw new Error('no publisher is left');
  return publisher;
}

const removal = (live: Fleet, address: string, from: number) =>
  waitFor(`REMOVED ${address}`, (ttlSeconds + 3) * 1000, () =>
    live.watch.lines.slice(from).find((line) => line.type === 'REMOVED' && line.address === address),
  );

describe('registrations that others lay hands on', () => {
  test('deleted, revoked, ended, killed', async () => {
    const etcd = await startEtcd();
    cleanUp(() => etcd.stop());
    const live = await fleet({ service: 'touched', readers: [etcd.endpoint], truth: etcd.endpoint, ttlSeconds });
    const added = live.watch.lines.filter(({ type }) => type === 'ADDED');
    expect(added.map(({ address }) => address).sort()).toEqual(live.publishers.map(({ address }) => address));
    const list = await run(['list', 'touched', '-o', 'json', '--endpoints', etcd.endpoint]);
    expect(JSON.parse(list.stdout).instances).toHaveLength(3);
    const heard: TrueEvent[] = [];
    cleanUp(await live.truth.follow(live.prefix, (event) => heard.push(event)));
    const [first] = await live.truth.keys(live.prefix);
    if (first === undefined) throw new Error('nobody is registered');

    // etcdctl del: back within 100 ms, same key, same lease.
    let from = live.watch.lines.length;
    await etcdctl(etcd.endpoint, 'del', first.key);
    const back = await waitFor('the key to be back', 1000, () => heard.find((event) => event.type === 'put'));
    expect(back).toMatchObject({ key: first.key, lease: first.lease, value: first.value });
    const awayMs = back.heardAt - (heard.find((event) => event.type === 'delete')?.heardAt ?? 0);
    expect(awayMs).toBeLessThan(100);
    const lines = await waitFor('the watch to tell of it', 1000, () => {
      const told = live.watch.lines.slice(from);
      return told.length >= 2 && told;
    });
    // Whether a removal was a deletion is asked of etcd and told when it answers in time.
    expect(lines).toMatchObject([
      { type: 'REMOVED', key: first.key, cause: expect.stringMatching(/^(deleted|removed)$/) },
      { type: 'ADDED', key: first.key, lease: String(first.lease), cause: expect.stringContaining('re-registered') },
    ]);
    figures.record('key deleted by somebody', `back after ${seconds(awayMs)}, same lease`);

    // etcdctl lease revoke: back under another lease, once.
    heard.length = 0;
    await etcdctl(etcd.endpoint, 'lease', 'revoke', first.lease.toString(16));
    const again = await waitFor('the instance to be back', 5000, () => heard.find((event) => event.type === 'put'));
    expect(again.lease).not.toBe(first.lease);
    const goneMs = again.heardAt - (heard.find((event) => event.type === 'delete')?.heardAt ?? 0);
    await live.converged(again.heardAt);
    figures.record('lease revoked by somebody', `back after ${seconds(goneMs)}, one key, no lease left over`);

    // SIGTERM: out within 200 ms.
    from = live.watch.lines.length;
    const ended = take(live);
    const endedAt = performance.now();
    ended.process.child.kill('SIGTERM');
    const out = await removal(live, ended.address, from);
    expect(out.at - endedAt).toBeLessThan(200);
    expect((await ended.process.ended).code).toBe(0);
    figures.record('SIGTERM of a publisher', `out after ${seconds(out.at - endedAt)}`);

    // kill -9: out when the lease has run out.
    from = live.watch.lines.length;
    const killed = take(live);
    const killedAt = performance.now();
    killed.process.kill();
    const gone = await removal(live, killed.address, from);
    expect(gone.at - killedAt).toBeLessThan((ttlSeconds + 1) * 1000);
    expect(gone.cause).toMatch(/^(expired or revoked|removed)$/);
    figures.record('kill -9 of a publisher', `gone after ${seconds(gone.at - killedAt)}, TTL ${ttlSeconds} s`);

    await live.settled(performance.now() + 1000);
    expectBalanced(live, live.balance(await live.truth.history(live.prefix, 1n)));
    await expectGoodEnd(live);
  });
});
