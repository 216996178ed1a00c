import { expect, test } from 'vitest';
import { put } from './helpers.js';
import { onEveryTarget } from './targets.js';

onEveryTarget((etcd) => {
  test('status: one member that leads, at a version from 3.4 on, with data and without errors', async () => {
    const revision = await put(etcd.client, `${etcd.prefix()}a`, '1');
    const status = await etcd.client.maintenance.status();
    expect(status.version).toMatch(/^3\.([4-9]|\d\d)\.\d+$/);
    expect(status.leader).toBe(status.header.member_id);
    expect(status.header.revision).toBe(String(revision));
    expect(Number(status.dbSize)).toBeGreaterThan(0);
    expect(Number(status.raftAppliedIndex)).toBeGreaterThan(0);
    expect(status.raftTerm).toBe(status.header.raft_term);
    expect([status.errors, status.isLearner]).toEqual([[], false]);
  });

  test('the applied index rises with every write', async () => {
    const before = await etcd.client.maintenance.status();
    await put(etcd.client, `${etcd.prefix()}a`, '1');
    const after = await etcd.client.maintenance.status();
    expect(Number(after.raftAppliedIndex)).toBeGreaterThan(Number(before.raftAppliedIndex));
  });

  test('no alarms', async () => {
    expect((await etcd.client.maintenance.alarm({ action: 'Get' })).alarms).toEqual([]);
  });

  test('the only member is the one that answers, at the address it is reached by', async () => {
    const { header, members } = await etcd.client.cluster.memberList({});
    expect(members).toHaveLength(1);
    expect(members[0]).toMatchObject({ ID: header.member_id, clientURLs: [etcd.endpoint], isLearner: false });
    expect(members[0]?.name).not.toBe('');
    expect(header.revision).toBe('0');
  });
});
