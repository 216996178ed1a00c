import { describe, expect, test } from 'vitest';
import { bytes, everythingUnder, get, keysOf, put } from './helpers.js';
import { onEveryTarget } from './targets.js';

onEveryTarget((etcd) => {
  describe('put', () => {
    test('a new key starts at version 1 with both revisions at that of the put', async () => {
      const key = `${etcd.prefix()}a`;
      const revision = await put(etcd.client, key, 'one');
      expect(await get(etcd.client, key)).toEqual({
        key: bytes(key),
        value: bytes('one'),
        create_revision: String(revision),
        mod_revision: String(revision),
        version: '1',
        lease: '0',
      });
    });

    test('each put is the next revision and version; the create revision stays', async () => {
      const key = `${etcd.prefix()}a`;
      const first = await put(etcd.client, key, 'one');
      expect(await put(etcd.client, key, 'two')).toBe(first + 1);
      expect(await get(etcd.client, key)).toMatchObject({
        value: bytes('two'),
        create_revision: String(first),
        mod_revision: String(first + 1),
        version: '2',
      });
    });

    test('prev_kv answers the entry before, and nothing for a new key', async () => {
      const key = bytes(`${etcd.prefix()}a`);
      const first = await etcd.client.kv.put({ key, value: bytes('one'), prev_kv: true });
      expect(first.prev_kv).toBeNull();
      const second = await etcd.client.kv.put({ key, value: bytes('two'), prev_kv: true });
      expect(second.prev_kv).toMatchObject({ value: bytes('one'), mod_revision: first.header.revision, version: '1' });
      const third = await etcd.client.kv.put({ key, value: bytes('three') });
      expect(third.prev_kv).toBeNull();
    });

    test('ignore_value keeps the value and binds the lease', async () => {
      const key = `${etcd.prefix()}a`;
      await put(etcd.client, key, 'one');
      const { ID } = await etcd.client.leaseClient.leaseGrant({ TTL: 60 });
      await etcd.client.kv.put({ key: bytes(key), ignore_value: true, lease: ID });
      expect(await get(etcd.client, key)).toMatchObject({ value: bytes('one'), lease: ID, version: '2' });
    });

    test('ignore_lease keeps the lease and sets the value; a plain put drops it', async () => {
      const key = `${etcd.prefix()}a`;
      const { ID } = await etcd.client.leaseClient.leaseGrant({ TTL: 60 });
      await put(etcd.client, key, 'one', ID);
      await etcd.client.kv.put({ key: bytes(key), value: bytes('two'), ignore_lease: true });
      expect(await get(etcd.client, key)).toMatchObject({ value: bytes('two'), lease: ID });
      await put(etcd.client, key, 'three');
      expect(await get(etcd.client, key)).toMatchObject({ value: bytes('three'), lease: '0' });
    });

    test('keys and values are bytes: zero bytes, invalid UTF-8 and an empty value survive', async () => {
      const prefix = etcd.prefix();
      const key = Buffer.concat([bytes(prefix), Buffer.from([0, 0xff, 0xc3, 0x28, 0x80])]);
      const value = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
      await etcd.client.kv.put({ key, value });
      await etcd.client.kv.put({ key: bytes(`${prefix}empty`) });
      const { kvs } = await etcd.client.kv.range(everythingUnder(prefix));
      expect(kvs.map((kv) => [kv.key, kv.value])).toEqual([
        [key, value],
        [bytes(`${prefix}empty`), Buffer.alloc(0)],
      ]);
    });
  });

  describe('range', () => {
    test('keys come in the order of their bytes, not of their characters', async () => {
      const prefix = etcd.prefix();
      // In UTF-16 the emoji sorts before U+FFFD, in bytes after it.
      const ordered = ['A', 'a', 'b', 'é', '\uFFFD', '😀'];
      for (const name of [...ordered].reverse()) await put(etcd.client, prefix + name, '');
      const { kvs, count, more } = await etcd.client.kv.range(everythingUnder(prefix));
      expect(keysOf(kvs)).toEqual(ordered.map((name) => prefix + name));
      expect([count, more]).toEqual(['6', false]);
    });

    test('[key, end) is half open; one zero byte as the end means all keys from there', async () => {
      const prefix = `zzz/${etcd.prefix()}`;
      for (const name of ['a', 'b', 'c']) await put(etcd.client, prefix + name, '');
      const between = await etcd.client.kv.range({ key: bytes(`${prefix}a`), range_end: bytes(`${prefix}c`) });
      expect(keysOf(between.kvs)).toEqual([`${prefix}a`, `${prefix}b`]);
      const rest = await etcd.client.kv.range({ key: bytes(`${prefix}b`), range_end: Buffer.from([0]) });
      expect(keysOf(rest.kvs)).toEqual([`${prefix}b`, `${prefix}c`]);
    });

    test('an end before the key holds nothing', async () => {
      const prefix = etcd.prefix();
      await put(etcd.client, `${prefix}b`, '');
      const answer = await etcd.client.kv.range({ key: bytes(`${prefix}c`), range_end: bytes(`${prefix}a`) });
      expect(answer).toMatchObject({ kvs: [], count: '0', more: false });
    });

    test('a missing key is an empty answer with the revision of the store', async () => {
      const prefix = etcd.prefix();
      const revision = await put(etcd.client, `${prefix}a`, '');
      const answer = await etcd.client.kv.range({ key: bytes(`${prefix}nothing`) });
      expect(answer).toMatchObject({ kvs: [], count: '0', more: false, header: { revision: String(revision) } });
    });

    test('limit cuts, says that there is more, and still counts all', async () => {
      const prefix = etcd.prefix();
      for (const name of ['a', 'b', 'c']) await put(etcd.client, prefix + name, '');
      const two = await etcd.client.kv.range({ ...everythingUnder(prefix), limit: 2 });
      expect([keysOf(two.kvs), two.more, two.count]).toEqual([[`${prefix}a`, `${prefix}b`], true, '3']);
      const three = await etcd.client.kv.range({ ...everythingUnder(prefix), limit: 3 });
      expect([three.kvs.length, three.more, three.count]).toEqual([3, false, '3']);
    });

    test('count_only answers no keys', async () => {
      const prefix = etcd.prefix();
      for (const name of ['a', 'b', 'c']) await put(etcd.client, prefix + name, '');
      const answer = await etcd.client.kv.range({ ...everythingUnder(prefix), count_only: true });
      expect(answer).toMatchObject({ kvs: [], count: '3', more: false });
    });

    test('keys_only leaves the values out and the rest in', async () => {
      const prefix = etcd.prefix();
      const revision = await put(etcd.client, `${prefix}a`, 'secret');
      const { kvs } = await etcd.client.kv.range({ ...everythingUnder(prefix), keys_only: true });
      expect(kvs).toEqual([
        {
          key: bytes(`${prefix}a`),
          value: Buffer.alloc(0),
          create_revision: String(revision),
          mod_revision: String(revision),
          version: '1',
          lease: '0',
        },
      ]);
    });

    test.each([
      ['Key', 'Descend', 'cba'],
      ['Key', 'Ascend', 'abc'],
      ['Version', 'Ascend', 'bca'],
      ['Version', 'Descend', 'acb'],
      ['Create', 'Ascend', 'cab'],
      ['Mod', 'Descend', 'acb'],
      ['Value', 'Ascend', 'bac'],
      ['Value', 'Descend', 'cab'],
      ['Mod', 'None', 'bca'],
    ] as const)('sorted by %s, order %s: %s', async (sort_target, sort_order, expected) => {
      const prefix = etcd.prefix();
      for (const [name, value] of ['c9', 'a0', 'b1', 'c8', 'a7', 'a2'].map((text) => [...text])) {
        await put(etcd.client, `${prefix}${name}`, String(value));
      }
      const { kvs } = await etcd.client.kv.range({ ...everythingUnder(prefix), sort_target, sort_order });
      expect(kvs.map((kv) => kv.key.toString().at(-1)).join('')).toBe(expected);
    });

    test('a limit is applied after the sort', async () => {
      const prefix = etcd.prefix();
      for (const name of ['a', 'b', 'c']) await put(etcd.client, prefix + name, '');
      const last = await etcd.client.kv.range({
        ...everythingUnder(prefix),
        sort_target: 'Key',
        sort_order: 'Descend',
        limit: 1,
      });
      expect([keysOf(last.kvs), last.more, last.count]).toEqual([[`${prefix}c`], true, '3']);
    });

    test.each([
      ['min_mod_revision', ['b', 'a']],
      ['max_mod_revision', ['b', 'c']],
      ['min_create_revision', ['b', 'c']],
      ['max_create_revision', ['a', 'b']],
    ] as const)('%s filters, both ends included', async (filter, expected) => {
      const prefix = etcd.prefix();
      await put(etcd.client, `${prefix}a`, '1');
      const created = await put(etcd.client, `${prefix}b`, '1');
      await put(etcd.client, `${prefix}c`, '1');
      const modified = await put(etcd.client, `${prefix}b`, '2');
      await put(etcd.client, `${prefix}a`, '2');
      const revisions = {
        min_mod_revision: modified,
        max_mod_revision: modified,
        min_create_revision: created,
        max_create_revision: created,
      };
      const { kvs } = await etcd.client.kv.range({ ...everythingUnder(prefix), [filter]: revisions[filter] });
      expect(new Set(keysOf(kvs))).toEqual(new Set(expected.map((name) => prefix + name)));
    });

    test('a past revision shows the past, under the header of the present', async () => {
      const prefix = etcd.prefix();
      const first = await put(etcd.client, `${prefix}a`, 'one');
      const second = await put(etcd.client, `${prefix}b`, 'one');
      await put(etcd.client, `${prefix}a`, 'two');
      const { header } = await etcd.client.kv.deleteRange({ key: bytes(`${prefix}b`) });
      const at = async (revision: number) => {
        const answer = await etcd.client.kv.range({ ...everythingUnder(prefix), revision });
        expect(answer.header.revision).toBe(header.revision);
        return answer.kvs.map((kv) => `${kv.key.toString().slice(prefix.length)}=${kv.value}`).join(' ');
      };
      expect(await at(first)).toBe('a=one');
      expect(await at(second)).toBe('a=one b=one');
      expect(await at(second + 1)).toBe('a=two b=one');
      expect(await at(second + 2)).toBe('a=two');
      expect(await at(0)).toBe('a=two');
    });
  });

  describe('delete', () => {
    test('a range is deleted as one revision, and prev_kv answers what was there', async () => {
      const prefix = etcd.prefix();
      await put(etcd.client, `${prefix}a`, 'one');
      const before = await put(etcd.client, `${prefix}b`, 'two');
      const answer = await etcd.client.kv.deleteRange({ ...everythingUnder(prefix), prev_kv: true });
      expect(answer.deleted).toBe('2');
      expect(answer.header.revision).toBe(String(before + 1));
      expect(answer.prev_kvs.map((kv) => kv.value.toString())).toEqual(['one', 'two']);
      expect((await etcd.client.kv.range(everythingUnder(prefix))).count).toBe('0');
    });

    test('deleting nothing is no revision', async () => {
      const prefix = etcd.prefix();
      const before = await put(etcd.client, `${prefix}a`, '');
      const answer = await etcd.client.kv.deleteRange({ key: bytes(`${prefix}nothing`), prev_kv: true });
      expect(answer).toMatchObject({ deleted: '0', prev_kvs: [], header: { revision: String(before) } });
    });

    test('a key that comes back starts at version 1 again', async () => {
      const key = `${etcd.prefix()}a`;
      await put(etcd.client, key, 'one');
      await put(etcd.client, key, 'two');
      await etcd.client.kv.deleteRange({ key: bytes(key) });
      const back = await put(etcd.client, key, 'three');
      expect(await get(etcd.client, key)).toMatchObject({
        version: '1',
        create_revision: String(back),
        mod_revision: String(back),
      });
    });
  });

  test('every answer names the same cluster and member, none of them zero', async () => {
    const prefix = etcd.prefix();
    const { header } = await etcd.client.kv.put({ key: bytes(`${prefix}a`) });
    expect(header.cluster_id).toMatch(/^[1-9]\d*$/);
    expect(header.member_id).toMatch(/^[1-9]\d*$/);
    expect(header.raft_term).toMatch(/^[1-9]\d*$/);
    const read = await etcd.client.kv.range({ key: bytes(`${prefix}a`) });
    expect(read.header).toEqual(header);
  });
});
