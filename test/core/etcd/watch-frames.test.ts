import type { IEvent, IWatchResponse } from 'etcd3';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WatchEvent } from '../../../src/core/etcd/port.js';
import {
  FragmentJoiner,
  historyBreak,
  isAuthReason,
  startRevision,
  takeNew,
} from '../../../src/core/etcd/watch-frames.js';

const wireEvent = (revision: number): IEvent => {
  const kv = { key: Buffer.from('k'), value: Buffer.alloc(0), create_revision: '1', version: '1', lease: '0' };
  const full = { ...kv, mod_revision: String(revision) };
  return { type: 'Put', kv: full, prev_kv: full };
};

const frame = (watchId: string, fragment: boolean, revisions: readonly number[]): IWatchResponse => ({
  header: { cluster_id: '1', member_id: '1', revision: '9', raft_term: '2' },
  watch_id: watchId,
  created: false,
  canceled: false,
  compact_revision: '0',
  cancel_reason: '',
  fragment,
  events: revisions.map(wireEvent),
});

const event = (revision: bigint): WatchEvent => {
  const kv = { key: 'k', value: Buffer.alloc(0), createRevision: 1n, modRevision: revision, version: 1n, lease: 0n };
  return { type: 'put', kv, previous: null };
};

test('fragments of several watchers, interleaved, come out whole and in order', () => {
  const answers = fc.array(fc.array(fc.array(fc.nat(9), { maxLength: 3 }), { minLength: 1, maxLength: 4 }), {
    maxLength: 4,
  });
  fc.assert(
    fc.property(answers, answers, fc.infiniteStream(fc.boolean()), (one, two, turns) => {
      const cut = (id: string, all: number[][][]) =>
        all.flatMap((parts) => parts.map((part, i) => frame(id, i < parts.length - 1, part)));
      const queues = [cut('1', one), cut('2', two)];
      const joiner = new FragmentJoiner();
      const out: Record<string, string[][]> = { 1: [], 2: [] };
      while (queues.some((queue) => queue.length > 0)) {
        const next =
          (turns.next().value ? queues[0]?.shift() : queues[1]?.shift()) ?? queues.find((q) => q.length)?.shift();
        const whole = next && joiner.push(next);
        if (whole) out[whole.watch_id]?.push(whole.events.map((e) => e.kv.mod_revision));
      }
      const expected = (all: number[][][]) => all.map((parts) => parts.flat().map(String));
      expect(out).toEqual({ 1: expected(one), 2: expected(two) });
    }),
  );
});

test('whatever streams overlap or repeat, each event is taken once', () => {
  const history = fc.uniqueArray(fc.bigInt({ min: 2n, max: 60n })).map((r) => r.sort((a, b) => Number(a - b)));
  const streams = fc.array(fc.record({ frames: fc.integer({ min: 0, max: 8 }), size: fc.integer({ min: 1, max: 4 }) }));
  fc.assert(
    fc.property(history, streams, (revisions, plan) => {
      let resumeAt = 2n;
      const taken: bigint[] = [];
      // Each stream starts where the server is asked to, and breaks after some frames; the last one is complete.
      for (const { frames, size } of [...plan, { frames: 60, size: 7 }]) {
        const served = revisions.filter((revision) => revision >= startRevision(resumeAt));
        for (let i = 0; i < frames; i++) {
          const result = takeNew(served.slice(i * size, (i + 1) * size).map(event), resumeAt);
          resumeAt = result.resumeAt;
          taken.push(...result.fresh.map((e) => e.kv.modRevision));
        }
      }
      expect(taken).toEqual(revisions);
    }),
  );
});

test('a watch never starts at revision 0, which would mean "now", nor in the future', () => {
  expect([1n, 2n, 3n, 100n].map(startRevision)).toEqual([1n, 1n, 2n, 99n]);
});

test.each([
  ['same history', { clusterId: 7n, raftTerm: 3n, revision: 10n }, 11n, null],
  ['later term, later revision', { clusterId: 7n, raftTerm: 4n, revision: 50n }, 11n, null],
  ['one event behind', { clusterId: 7n, raftTerm: 3n, revision: 9n }, 11n, /revision 9/],
  ['another cluster', { clusterId: 8n, raftTerm: 3n, revision: 99n }, 11n, /another id/],
  ['term backwards', { clusterId: 7n, raftTerm: 2n, revision: 99n }, 11n, /term/],
])('%s', (_, header, resumeAt, expected) => {
  const found = historyBreak({ clusterId: 7n, raftTerm: 3n }, { ...header, memberId: 1n }, resumeAt);
  if (expected === null) expect(found).toBeNull();
  else expect(found).toMatch(expected);
});

test.each([
  ['etcdserver: permission denied', true],
  ['etcdserver: invalid auth token', true],
  ['rpc error: code = InvalidArgument desc = etcdserver: user name is empty', true],
  ['etcdserver: revision of auth store is old', true],
  ['etcdserver: mvcc: required revision has been compacted', false],
  ['no reason given', false],
])('%s concerns the account: %s', (reason, expected) => {
  expect(isAuthReason(reason)).toBe(expected);
});
