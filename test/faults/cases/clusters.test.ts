import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type EtcdProcess, startCluster } from '../../support/etcd-process.js';
import { openTruth } from '../../support/etcd-truth.js';
import { startProxy, type TcpProxy } from '../../support/tcp-proxy.js';
import { seconds } from '../figures.js';
import { pause } from '../fleet.js';
import { cleanUp, expectBalanced, expectGoodEnd, figures, fleet, outsider } from '../run.js';

interface Member {
  readonly etcd: EtcdProcess;
  readonly proxy: TcpProxy;
}

const members: Member[] = [];

async function leads({ etcd }: Member): Promise<boolean> {
  const truth = openTruth(etcd.endpoint);
  try {
    return await truth.isLeader();
  } finally {
    truth.close();
  }
}

/** A fleet that knows all three members and is attached to the leader, or to a follower. */
async function attached(service: string, to: 'leader' | 'follower') {
  const roles = await Promise.all(members.map(async (member) => ({ member, isLeader: await leads(member) })));
  const victim = roles.find(({ isLeader }) => isLeader === (to === 'leader'))?.member;
  const [other, another] = members.filter((member) => member !== victim);
  if (!victim || !other || !another) throw new Error('no such member');
  // While everybody starts there is only one way to etcd; the other two are there when the fault comes.
  other.proxy.cut({ refuse: true });
  another.proxy.cut({ refuse: true });
  const readers = members.map(({ proxy }) => proxy.address);
  const live = await fleet({ service, readers, truth: other.etcd.endpoint });
  other.proxy.heal();
  another.proxy.heal();
  return { victim: victim.etcd, live };
}

describe('three members', () => {
  beforeAll(async () => {
    for (const etcd of await startCluster(3)) members.push({ etcd, proxy: await startProxy(etcd.port) });
  });

  afterAll(async () => {
    for (const { etcd, proxy } of members) await Promise.all([etcd.stop(), proxy.close()]);
  });

  test('the one that everybody uses hangs for 25 s', async () => {
    const { victim, live } = await attached('one-hangs', 'follower');
    const leases = await Promise.all(live.publishers.map(({ address }) => live.leaseOf(address)));
    cleanUp(() => victim.resume());
    victim.suspend();
    const writtenAt = new Map<string, number>();
    const end = performance.now() + 25_000;
    for (let number = 1; performance.now() < end; number++) {
      const { id, address } = outsider(number);
      await live.truth.put(live.prefix + id, address);
      writtenAt.set(address, performance.now());
      await pause(250);
    }
    victim.resume();
    await live.converged(await live.truth.healthy());
    const lines = live.watch.lines.filter(({ type }) => type === 'ADDED');
    const gap = Math.max(...lines.map((line) => line.at - (writtenAt.get(line.address) ?? line.at)));
    expect(gap, 'the watch was not attached to the member that hung').toBeGreaterThan(1000);
    expect(gap).toBeLessThan(6700);
    expect(await Promise.all(live.publishers.map(({ address }) => live.leaseOf(address)))).toEqual(leases);
    expectBalanced(live, live.balance(await live.truth.history(live.prefix, 1n)));
    figures.record('one of 3 members hung for 25 s', `gap ${seconds(gap)}, lease kept`);
    await expectGoodEnd(live);
  });

  test('the leader, which everybody uses, is killed', async () => {
    const { victim, live } = await attached('leader-dies', 'leader');
    const killedAt = performance.now();
    await victim.kill();
    let acceptedAt = 0;
    for (let number = 1; acceptedAt === 0 || performance.now() < acceptedAt + 1000; number++) {
      const { id, address } = outsider(number);
      // Without a leader a write hangs; it may still happen, which the history will tell.
      await live.truth.put(live.prefix + id, address, 200).then(
        () => {
          acceptedAt ||= performance.now();
        },
        () => {},
      );
      await pause(20);
    }
    await live.converged(await live.truth.healthy());
    const first = live.watch.lines.find(({ type, at }) => type === 'ADDED' && at > killedAt);
    const gap = (first?.at ?? Number.NaN) - killedAt;
    expectBalanced(live, live.balance(await live.truth.history(live.prefix, 1n)));
    figures.record('leader killed', `${seconds(gap)} (first write accepted after ${seconds(acceptedAt - killedAt)})`);
    await expectGoodEnd(live);
  });
});
