import { afterEach, describe, expect, test } from 'vitest';
import { bytes, eventText, everythingUnder, get, put, WatchStream } from './helpers.js';
import { onEveryTarget } from './targets.js';

onEveryTarget((etcd) => {
  const open: WatchStream[] = [];
  const stream = async () => {
    const opened = await WatchStream.open(etcd.endpoint);
    open.push(opened);
    return opened;
  };
  afterEach(() => {
    for (const each of open.splice(0)) each.cancel();
  });
  const revisionNow = async () => Number((await etcd.client.kv.range({ key: bytes('none') })).header.revision);

  describe('creation', () => {
    test('is confirmed with the id 0 and the revision of the store', async () => {
      const watch = await stream();
      const frame = await watch.create(everythingUnder(etcd.prefix()));
      expect(frame).toMatchObject({ created: true, canceled: false, watch_id: '0', cancel_reason: '', events: [] });
      expect(frame.header.revision).toBe(String(await revisionNow()));
    });

    test('ids count up, one may be chosen, and a chosen one is skipped later', async () => {
      const watch = await stream();
      const ids = [];
      for (const watch_id of [0, 2, 0, 0, 77]) {
        ids.push((await watch.create({ ...everythingUnder(etcd.prefix()), watch_id })).watch_id);
      }
      expect(ids).toEqual(['0', '2', '1', '3', '77']);
    });

    test('an id in use is refused, and the stream lives on', async () => {
      const prefix = etcd.prefix();
      const watch = await stream();
      await watch.create({ ...everythingUnder(prefix), watch_id: 7 });
      const refused = await watch.create({ ...everythingUnder(prefix), watch_id: 7 });
      expect(refused).toMatchObject({
        created: true,
        canceled: true,
        watch_id: '-1',
        cancel_reason: 'mvcc: duplicate watch ID provided on the WatchStream',
      });
      const revision = await put(etcd.client, `${prefix}a`, '1');
      expect((await watch.events(1)).map(eventText)).toEqual([`PUT ${prefix}a=1@${revision}`]);
    });

    test('an empty range is refused', async () => {
      const watch = await stream();
      const refused = await watch.create({ key: bytes('b'), range_end: bytes('a') });
      expect(refused).toMatchObject({
        created: true,
        canceled: true,
        watch_id: '-1',
        cancel_reason: 'mvcc: watcher range is empty',
      });
    });
  });

  describe('events', () => {
    test('come in order, with the frame of a revision under its header', async () => {
      const prefix = etcd.prefix();
      const watch = await stream();
      await watch.create(everythingUnder(prefix));
      const first = await put(etcd.client, `${prefix}a`, '1');
      await put(etcd.client, `${prefix}a`, '2');
      await etcd.client.kv.deleteRange({ key: bytes(`${prefix}a`) });
      for (const [i, text] of [
        `PUT ${prefix}a=1@${first}`,
        `PUT ${prefix}a=2@${first + 1}`,
        `DELETE ${prefix}a@${first + 2}`,
      ].entries()) {
        const frame = await watch.next();
        expect(frame.events.map(eventText)).toEqual([text]);
        expect(frame).toMatchObject({ watch_id: '0', header: { revision: String(first + i) } });
      }
    });

    test('a deletion carries the key and its revision, and nothing else', async () => {
      const key = `${etcd.prefix()}a`;
      await put(etcd.client, key, '1');
      const watch = await stream();
      await watch.create({ key: bytes(key) });
      const { header } = await etcd.client.kv.deleteRange({ key: bytes(key) });
      const [event] = await watch.events(1);
      expect(event).toEqual({
        type: 'Delete',
        kv: {
          key: bytes(key),
          value: Buffer.alloc(0),
          mod_revision: header.revision,
          create_revision: '0',
          version: '0',
          lease: '0',
        },
        prev_kv: null,
      });
    });

    test('of a transaction come in one frame, in the order of its operations', async () => {
      const prefix = etcd.prefix();
      await put(etcd.client, `${prefix}gone`, '');
      const watch = await stream();
      await watch.create(everythingUnder(prefix));
      const { header } = await etcd.client.kv.txn({
        success: [
          { request_put: { key: bytes(`${prefix}b`), value: bytes('1') } },
          { request_delete_range: { key: bytes(`${prefix}gone`) } },
          { request_put: { key: bytes(`${prefix}a`), value: bytes('2') } },
        ],
      });
      const { events } = await watch.next();
      expect(events.map(eventText)).toEqual([
        `PUT ${prefix}b=1@${header.revision}`,
        `DELETE ${prefix}gone@${header.revision}`,
        `PUT ${prefix}a=2@${header.revision}`,
      ]);
    });

    test('one key, a range, and everything from a key on: each hears of its own', async () => {
      const prefix = `zzzz/${etcd.prefix()}`;
      const watch = await stream();
      await watch.create({ key: bytes(`${prefix}b`) });
      await watch.create({ key: bytes(`${prefix}a`), range_end: bytes(`${prefix}c`) });
      await watch.create({ key: bytes(`${prefix}b`), range_end: Buffer.from([0]) });
      for (const name of ['a', 'b', 'c']) await put(etcd.client, prefix + name, '');
      const heard: Record<string, string> = {};
      for (let frames = 0; frames < 5; frames++) {
        const { watch_id, events } = await watch.next();
        heard[watch_id] = (heard[watch_id] ?? '') + events.map((event) => event.kv.key.toString().at(-1)).join('');
      }
      expect(heard).toEqual({ 0: 'b', 1: 'ab', 2: 'bc' });
    });

    test('prev_kv carries the entry before, none for a creation', async () => {
      const key = `${etcd.prefix()}a`;
      const watch = await stream();
      await watch.create({ key: bytes(key), prev_kv: true });
      const first = await put(etcd.client, key, '1');
      await put(etcd.client, key, '2');
      await etcd.client.kv.deleteRange({ key: bytes(key) });
      const events = await watch.events(3);
      expect(events.map((event) => event.prev_kv?.value.toString() ?? null)).toEqual([null, '1', '2']);
      expect(events[2]?.prev_kv?.mod_revision).toBe(String(first + 1));
    });

    test.each([
      [['Noput'], ['DELETE']],
      [['Nodelete'], ['PUT', 'PUT']],
    ] as const)('filter %s leaves %s', async (filters, expected) => {
      const prefix = etcd.prefix();
      const watch = await stream();
      await watch.create({ ...everythingUnder(prefix), filters: [...filters] });
      await watch.create({ key: bytes(`${prefix}end`) });
      await put(etcd.client, `${prefix}a`, '1');
      await etcd.client.kv.deleteRange({ key: bytes(`${prefix}a`) });
      await put(etcd.client, `${prefix}end`, '');
      const kinds: string[] = [];
      for (;;) {
        const { watch_id, events } = await watch.next();
        if (watch_id === '1') break;
        kinds.push(...events.map((event) => event.type.toUpperCase()));
      }
      // The frames of two watchers are not ordered among each other: what is missing may follow.
      while (kinds.length < expected.length) {
        kinds.push(...(await watch.next()).events.map((event) => event.type.toUpperCase()));
      }
      expect(kinds).toEqual(expected);
    });

    test('of a lease that is revoked are deletions in the order of the keys', async () => {
      const prefix = etcd.prefix();
      const { ID } = await etcd.client.leaseClient.leaseGrant({ TTL: 60 });
      for (const name of ['b', 'a']) await put(etcd.client, prefix + name, '', ID);
      const watch = await stream();
      await watch.create(everythingUnder(prefix));
      const { header } = await etcd.client.leaseClient.leaseRevoke({ ID });
      const { events } = await watch.next();
      expect(events.map(eventText)).toEqual([
        `DELETE ${prefix}a@${header.revision}`,
        `DELETE ${prefix}b@${header.revision}`,
      ]);
    });
  });

  describe('history', () => {
    test('a start revision replays what came since, that revision included, then goes on', async () => {
      const prefix = etcd.prefix();
      await put(etcd.client, `${prefix}a`, '0');
      const first = await put(etcd.client, `${prefix}a`, '1');
      await etcd.client.kv.deleteRange({ key: bytes(`${prefix}a`) });
      const watch = await stream();
      await watch.create({ ...everythingUnder(prefix), start_revision: first, prev_kv: true });
      const past = await watch.events(2);
      await put(etcd.client, `${prefix}b`, '2');
      expect([...past, ...(await watch.events(1))].map(eventText)).toEqual([
        `PUT ${prefix}a=1@${first}`,
        `DELETE ${prefix}a@${first + 1}`,
        `PUT ${prefix}b=2@${first + 2}`,
      ]);
      expect(past.map((event) => event.prev_kv?.value.toString())).toEqual(['0', '1']);
    });

    test('more than 1,000 revisions are replayed whole, in order', async () => {
      const prefix = etcd.prefix();
      const first = await put(etcd.client, `${prefix}0`, '');
      for (let done = 0; done < 1100; done += 100) {
        await Promise.all(Array.from({ length: 100 }, () => put(etcd.client, `${prefix}k`, '')));
      }
      const watch = await stream();
      await watch.create({ ...everythingUnder(prefix), start_revision: first });
      const events = await watch.events(1101);
      expect(events.map((event) => Number(event.kv.mod_revision))).toEqual(
        Array.from({ length: 1101 }, (_, i) => first + i),
      );
    });

    test('a revision that is yet to come is waited for', async () => {
      const prefix = etcd.prefix();
      const now = await revisionNow();
      const watch = await stream();
      await watch.create({ ...everythingUnder(prefix), start_revision: now + 2 });
      await put(etcd.client, `${prefix}a`, 'too early');
      await put(etcd.client, `${prefix}a`, 'in time');
      expect((await watch.events(1)).map(eventText)).toEqual([`PUT ${prefix}a=in time@${now + 2}`]);
    });
  });

  describe('fragments', () => {
    const big = 1_400_000;
    test('a frame too large for a client is cut when it agreed, and all but the last say so', async () => {
      const prefix = etcd.prefix();
      const first = await put(etcd.client, `${prefix}a`, 'x'.repeat(big));
      for (const name of ['b', 'c']) await put(etcd.client, prefix + name, 'x'.repeat(big));
      const watch = await stream();
      await watch.create({ ...everythingUnder(prefix), start_revision: first, fragment: true });
      const frames = [await watch.next(), await watch.next(), await watch.next()];
      expect(frames.map((frame) => [frame.fragment, frame.events.length])).toEqual([
        [true, 1],
        [true, 1],
        [false, 1],
      ]);
      expect(new Set(frames.map((frame) => frame.header.revision)).size).toBe(1);
    });

    test('without consent it comes whole', async () => {
      const prefix = etcd.prefix();
      const first = await put(etcd.client, `${prefix}a`, 'x'.repeat(big));
      for (const name of ['b', 'c']) await put(etcd.client, prefix + name, 'x'.repeat(big));
      const watch = await stream();
      await watch.create({ ...everythingUnder(prefix), start_revision: first });
      const frame = await watch.next();
      expect([frame.fragment, frame.events.length]).toEqual([false, 3]);
    });
  });

  describe('progress', () => {
    test('a request is answered for the whole stream with the revision of the store', async () => {
      const watch = await stream();
      await watch.create(everythingUnder(etcd.prefix()));
      const revision = await put(etcd.client, `${etcd.prefix()}elsewhere`, '');
      watch.send({ progress_request: {} });
      const frame = await watch.next();
      expect(frame).toMatchObject({
        watch_id: '-1',
        created: false,
        canceled: false,
        events: [],
        header: { revision: String(revision) },
      });
    });
  });

  describe('the end', () => {
    test('cancel is confirmed, and nothing more is heard; an unknown id gets no answer', async () => {
      const prefix = etcd.prefix();
      const watch = await stream();
      await watch.create(everythingUnder(prefix));
      await watch.create(everythingUnder(prefix));
      watch.send({ cancel_request: { watch_id: 99 } });
      watch.send({ cancel_request: { watch_id: 0 } });
      expect(await watch.next()).toMatchObject({
        watch_id: '0',
        created: false,
        canceled: true,
        cancel_reason: '',
        compact_revision: '0',
      });
      await put(etcd.client, `${prefix}a`, '');
      expect((await watch.next()).watch_id).toBe('1');
      watch.send({ progress_request: {} });
      expect((await watch.next()).watch_id).toBe('-1');
    });

    test('a client that has ended its half still hears of events', async () => {
      const prefix = etcd.prefix();
      const watch = await stream();
      await watch.create(everythingUnder(prefix));
      watch.end();
      const revision = await put(etcd.client, `${prefix}a`, '1');
      expect((await watch.events(1)).map(eventText)).toEqual([`PUT ${prefix}a=1@${revision}`]);
    });
  });

  describe('compaction', () => {
    test('a start below it is created, then cancelled with the compacted revision and no reason', async () => {
      const prefix = etcd.prefix();
      const first = await put(etcd.client, `${prefix}a`, '1');
      const last = await put(etcd.client, `${prefix}a`, '2');
      await etcd.client.kv.compact({ revision: last });
      const watch = await stream();
      const created = await watch.create({ ...everythingUnder(prefix), start_revision: first });
      expect(created).toMatchObject({ created: true, canceled: false, watch_id: '0' });
      expect(await watch.next()).toMatchObject({
        created: false,
        canceled: true,
        watch_id: '0',
        compact_revision: String(last),
        cancel_reason: '',
        events: [],
        header: { revision: '0' },
      });
    });

    test('a start at it replays that revision, without the entry before', async () => {
      const prefix = etcd.prefix();
      await put(etcd.client, `${prefix}a`, '1');
      const last = await put(etcd.client, `${prefix}a`, '2');
      await etcd.client.kv.compact({ revision: last });
      const watch = await stream();
      await watch.create({ ...everythingUnder(prefix), start_revision: last, prev_kv: true });
      const [event] = await watch.events(1);
      expect(event && eventText(event)).toBe(`PUT ${prefix}a=2@${last}`);
      expect(event?.prev_kv).toBeNull();
    });

    test('a watcher that keeps up does not notice', async () => {
      const prefix = etcd.prefix();
      const watch = await stream();
      await watch.create(everythingUnder(prefix));
      const first = await put(etcd.client, `${prefix}a`, '1');
      expect((await watch.events(1)).length).toBe(1);
      await etcd.client.kv.compact({ revision: first });
      await put(etcd.client, `${prefix}a`, '2');
      expect((await watch.events(1)).map(eventText)).toEqual([`PUT ${prefix}a=2@${first + 1}`]);
      expect((await get(etcd.client, `${prefix}a`))?.version).toBe('2');
    });
  });
});
