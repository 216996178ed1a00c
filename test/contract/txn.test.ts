import type { ICompare } from 'etcd3';
import { describe, expect, test } from 'vitest';
import { bytes, everythingUnder, get, keysOf, put } from './helpers.js';
import { onEveryTarget } from './targets.js';

onEveryTarget((etcd) => {
  const holds = async (...compare: ICompare[]) => (await etcd.client.kv.txn({ compare })).succeeded;

  describe('comparisons', () => {
    test('version, create and mod revision in all four ways', async () => {
      const key = `${etcd.prefix()}a`;
      const create_revision = await put(etcd.client, key, 'one');
      const mod_revision = await put(etcd.client, key, 'two');
      const targets = [
        ['Version', 'version', 2],
        ['Create', 'create_revision', create_revision],
        ['Mod', 'mod_revision', mod_revision],
      ] as const;
      for (const [target, field, actual] of targets) {
        const outcome = async (result: 'Equal' | 'NotEqual' | 'Greater' | 'Less', value: number) =>
          holds({ key: bytes(key), target, result, [field]: value });
        expect([target, await outcome('Equal', actual), await outcome('Equal', actual + 1)]).toEqual([
          target,
          true,
          false,
        ]);
        expect([await outcome('NotEqual', actual), await outcome('NotEqual', actual - 1)]).toEqual([false, true]);
        expect([await outcome('Greater', actual - 1), await outcome('Greater', actual)]).toEqual([true, false]);
        expect([await outcome('Less', actual + 1), await outcome('Less', actual)]).toEqual([true, false]);
      }
    });

    test('values compare as bytes', async () => {
      const key = bytes(`${etcd.prefix()}a`);
      await put(etcd.client, key.toString(), 'b');
      const outcome = (result: ICompare['result'] & string, value: string) =>
        holds({ key, target: 'Value', result, value: bytes(value) });
      expect([await outcome('Equal', 'b'), await outcome('Equal', 'a')]).toEqual([true, false]);
      expect([await outcome('Greater', 'a'), await outcome('Greater', 'é')]).toEqual([true, false]);
      expect([await outcome('Less', 'ba'), await outcome('Less', 'b')]).toEqual([true, false]);
    });

    test('leases compare exactly beyond 2^53', async () => {
      const prefix = etcd.prefix();
      const ID = '9007199254740993';
      await etcd.client.leaseClient.leaseGrant({ TTL: 60, ID });
      await put(etcd.client, `${prefix}a`, '', ID);
      const outcome = (lease: string) => holds({ key: bytes(`${prefix}a`), target: 'Lease', result: 'Equal', lease });
      expect([await outcome(ID), await outcome('9007199254740992')]).toEqual([true, false]);
      await etcd.client.leaseClient.leaseRevoke({ ID });
    });

    test('a missing key has version and revisions 0, and no value that equals or differs', async () => {
      const key = bytes(`${etcd.prefix()}missing`);
      expect(await holds({ key, target: 'Version', result: 'Equal', version: 0 })).toBe(true);
      expect(await holds({ key, target: 'Create', result: 'Greater', create_revision: 0 })).toBe(false);
      expect(await holds({ key, target: 'Lease', result: 'Equal', lease: 0 })).toBe(true);
      expect(await holds({ key, target: 'Value', result: 'Equal', value: Buffer.alloc(0) })).toBe(false);
      expect(await holds({ key, target: 'Value', result: 'NotEqual', value: bytes('x') })).toBe(false);
    });

    test('over a range it must hold for every key', async () => {
      const prefix = etcd.prefix();
      await put(etcd.client, `${prefix}a`, 'x');
      await put(etcd.client, `${prefix}b`, 'x');
      const compare = { ...everythingUnder(prefix), target: 'Value', result: 'Equal', value: bytes('x') } as const;
      expect(await holds(compare)).toBe(true);
      await put(etcd.client, `${prefix}b`, 'y');
      expect(await holds(compare)).toBe(false);
    });

    test('all comparisons must hold; none at all holds', async () => {
      const key = bytes(`${etcd.prefix()}a`);
      const yes = { key, target: 'Version', result: 'Equal', version: 0 } as const;
      const no = { key, target: 'Version', result: 'Equal', version: 9 } as const;
      expect([await holds(), await holds(yes, yes), await holds(yes, no)]).toEqual([true, true, false]);
    });
  });

  describe('operations', () => {
    test('the branch that was chosen runs, the other does not, each answer in its place', async () => {
      const prefix = etcd.prefix();
      const key = bytes(`${prefix}a`);
      const create = {
        compare: [{ key, target: 'Version', result: 'Equal', version: 0 } as const],
        success: [{ request_put: { key, value: bytes('new') } }],
        failure: [{ request_range: { key } }],
      };
      const first = await etcd.client.kv.txn(create);
      expect(first.succeeded).toBe(true);
      expect(Object.keys(first.responses[0] ?? {})).toContain('response_put');
      const second = await etcd.client.kv.txn(create);
      expect(second.succeeded).toBe(false);
      expect(second.responses[0]?.response_range.kvs[0]?.value).toEqual(bytes('new'));
      expect(second.header.revision).toBe(first.header.revision);
    });

    test('all writes share one revision, and later operations see earlier ones', async () => {
      const prefix = etcd.prefix();
      const before = await put(etcd.client, `${prefix}old`, 'x');
      const { header, responses } = await etcd.client.kv.txn({
        success: [
          { request_range: everythingUnder(prefix) },
          { request_put: { key: bytes(`${prefix}a`), value: bytes('1') } },
          { request_delete_range: { key: bytes(`${prefix}old`), prev_kv: true } },
          { request_put: { key: bytes(`${prefix}b`), value: bytes('2') } },
          { request_range: everythingUnder(prefix) },
        ],
      });
      expect(header.revision).toBe(String(before + 1));
      expect(keysOf(responses[0]?.response_range.kvs ?? [])).toEqual([`${prefix}old`]);
      expect(responses[2]?.response_delete_range.prev_kvs[0]?.value).toEqual(bytes('x'));
      const seen = responses[4]?.response_range.kvs ?? [];
      expect(keysOf(seen)).toEqual([`${prefix}a`, `${prefix}b`]);
      expect(seen.map((kv) => kv.mod_revision)).toEqual([header.revision, header.revision]);
      expect(responses.map((response) => Object.values(response).find((r) => r?.header)?.header.revision)).toEqual([
        String(before),
        header.revision,
        header.revision,
        header.revision,
        header.revision,
      ]);
    });

    test('nested: comparisons see the state before the whole transaction', async () => {
      const prefix = etcd.prefix();
      const key = bytes(`${prefix}a`);
      const { responses } = await etcd.client.kv.txn({
        success: [
          { request_put: { key, value: bytes('1') } },
          {
            request_txn: {
              compare: [{ key, target: 'Version', result: 'Equal', version: 0 }],
              success: [{ request_put: { key: bytes(`${prefix}then`) } }],
              failure: [{ request_put: { key: bytes(`${prefix}else`) } }],
            },
          },
        ],
      });
      expect(responses[1]?.response_txn.succeeded).toBe(true);
      const { kvs } = await etcd.client.kv.range(everythingUnder(prefix));
      expect(keysOf(kvs)).toEqual([`${prefix}a`, `${prefix}then`]);
      expect(new Set(kvs.map((kv) => kv.mod_revision)).size).toBe(1);
    });

    test('the branches of a nested one may put the same key', async () => {
      const prefix = etcd.prefix();
      const key = bytes(`${prefix}a`);
      await etcd.client.kv.txn({
        success: [
          {
            request_txn: {
              compare: [{ key, target: 'Version', result: 'Greater', version: 0 }],
              success: [{ request_put: { key, value: bytes('then') } }],
              failure: [{ request_put: { key, value: bytes('else') } }],
            },
          },
        ],
      });
      expect((await get(etcd.client, `${prefix}a`))?.value).toEqual(bytes('else'));
    });

    test('only reading is no revision', async () => {
      const prefix = etcd.prefix();
      const before = await put(etcd.client, `${prefix}a`, '');
      const { header } = await etcd.client.kv.txn({ success: [{ request_range: everythingUnder(prefix) }] });
      expect(header.revision).toBe(String(before));
    });

    test('a put binds the lease that it names', async () => {
      const prefix = etcd.prefix();
      const { ID } = await etcd.client.leaseClient.leaseGrant({ TTL: 60 });
      await etcd.client.kv.txn({
        success: [{ request_put: { key: bytes(`${prefix}a`), value: bytes('1'), lease: ID } }],
      });
      const info = await etcd.client.leaseClient.leaseTimeToLive({ ID, keys: true });
      expect(info.keys.map(String)).toEqual([`${prefix}a`]);
    });

    test('128 operations are let through', async () => {
      const prefix = etcd.prefix();
      await etcd.client.kv.txn({
        success: Array.from({ length: 128 }, (_, i) => ({ request_put: { key: bytes(`${prefix}${i}`) } })),
      });
      expect((await etcd.client.kv.range({ ...everythingUnder(prefix), count_only: true })).count).toBe('128');
    });
  });
});
