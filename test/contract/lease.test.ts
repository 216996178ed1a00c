import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { bytes, everythingUnder, get, put, refusalOf, WatchStream } from './helpers.js';
import { onEveryTarget } from './targets.js';

onEveryTarget((etcd) => {
  const grant = async (TTL: number, ID = '0') => etcd.client.leaseClient.leaseGrant({ TTL, ID });
  const info = async (ID: string) => etcd.client.leaseClient.leaseTimeToLive({ ID, keys: true });

  describe('grant', () => {
    test('an id is chosen when none is given, positive and never the same', async () => {
      const [first, second] = [await grant(60), await grant(60)];
      expect(first).toMatchObject({ TTL: '60', error: '' });
      expect(first.ID).toMatch(/^[1-9]\d*$/);
      expect(second.ID).not.toBe(first.ID);
    });

    test('a chosen id is kept to the last digit', async () => {
      const ID = '9223372036854775807';
      expect((await grant(60, ID)).ID).toBe(ID);
      expect((await info(ID)).ID).toBe(ID);
      await etcd.client.leaseClient.leaseRevoke({ ID });
    });

    test('is no revision of the store', async () => {
      const revision = await put(etcd.client, `${etcd.prefix()}a`, '');
      expect((await grant(60)).header.revision).toBe(String(revision));
    });

    test.each([1, 0, -5])('a TTL of %i s is raised to what etcd can keep, 2 s', async (ttl) => {
      expect((await grant(ttl)).TTL).toBe('2');
    });
  });

  describe('time to live', () => {
    test('tells what is left, what was granted, and the keys', async () => {
      const prefix = etcd.prefix();
      const { ID } = await grant(60);
      await put(etcd.client, `${prefix}a`, '', ID);
      await put(etcd.client, `${prefix}b`, '', ID);
      const answer = await info(ID);
      expect(answer.grantedTTL).toBe('60');
      expect(['59', '60']).toContain(answer.TTL);
      expect(answer.keys.map(String).sort()).toEqual([`${prefix}a`, `${prefix}b`]);
      const short = await etcd.client.leaseClient.leaseTimeToLive({ ID });
      expect(short.keys).toEqual([]);
    });

    test('a key that was deleted, or put without the lease, is no longer among them', async () => {
      const prefix = etcd.prefix();
      const { ID } = await grant(60);
      for (const name of ['a', 'b', 'c']) await put(etcd.client, prefix + name, '', ID);
      await put(etcd.client, `${prefix}a`, 'permanent now');
      await etcd.client.kv.deleteRange({ key: bytes(`${prefix}b`) });
      expect((await info(ID)).keys.map(String)).toEqual([`${prefix}c`]);
    });

    test('a key moves from lease to lease', async () => {
      const key = `${etcd.prefix()}a`;
      const [first, second] = [await grant(60), await grant(60)];
      await put(etcd.client, key, '', first.ID);
      await put(etcd.client, key, '', second.ID);
      expect((await info(first.ID)).keys).toEqual([]);
      await etcd.client.leaseClient.leaseRevoke({ ID: first.ID });
      expect((await get(etcd.client, key))?.lease).toBe(second.ID);
    });

    test('of an unknown lease is -1', async () => {
      expect(await info('4711')).toMatchObject({ ID: '4711', TTL: '-1', grantedTTL: '0', keys: [] });
    });
  });

  test('the list holds every lease, and no revoked one', async () => {
    const [kept, revoked] = [await grant(60), await grant(60)];
    await etcd.client.leaseClient.leaseRevoke({ ID: revoked.ID });
    const ids = (await etcd.client.leaseClient.leaseLeases()).leases.map((lease) => lease.ID);
    expect(ids).toContain(kept.ID);
    expect(ids).not.toContain(revoked.ID);
  });

  describe('revoke', () => {
    test('deletes its keys as one revision, and only those', async () => {
      const prefix = etcd.prefix();
      const { ID } = await grant(60);
      await put(etcd.client, `${prefix}a`, '', ID);
      await put(etcd.client, `${prefix}b`, '', ID);
      const last = await put(etcd.client, `${prefix}c`, '');
      const { header } = await etcd.client.leaseClient.leaseRevoke({ ID });
      expect(header.revision).toBe(String(last + 1));
      const { kvs } = await etcd.client.kv.range(everythingUnder(prefix));
      expect(kvs.map((kv) => kv.key.toString())).toEqual([`${prefix}c`]);
    });

    test('without keys is no revision', async () => {
      const last = await put(etcd.client, `${etcd.prefix()}a`, '');
      const { ID } = await grant(60);
      expect((await etcd.client.leaseClient.leaseRevoke({ ID })).header.revision).toBe(String(last));
    });

    test('a second time is "not found", and so is a put under it', async () => {
      const { ID } = await grant(60);
      await etcd.client.leaseClient.leaseRevoke({ ID });
      const text = 'NOT_FOUND: etcdserver: requested lease not found';
      expect(await refusalOf(etcd.client.leaseClient.leaseRevoke({ ID }))).toContain(text);
      expect(await refusalOf(put(etcd.client, `${etcd.prefix()}a`, '', ID))).toContain(text);
    });
  });

  describe('keep-alive', () => {
    const beats = async (...ids: string[]) => {
      const stream = await etcd.client.leaseClient.leaseKeepAlive();
      const answers: Array<[string, string]> = [];
      stream.on('data', (answer) => answers.push([answer.ID, answer.TTL]));
      // Its client type knows no 'end'; the stream is a Node stream.
      const ended = once(stream as unknown as NodeJS.EventEmitter, 'end');
      for (const ID of ids) stream.write({ ID });
      stream.end();
      await ended;
      return answers;
    };

    test('answers each beat with the TTL that starts anew, 0 for a lease that is gone, and ends with its client', async () => {
      const { ID } = await grant(60);
      expect(await beats(ID, '4712', ID)).toEqual([
        [ID, '60'],
        ['4712', '0'],
        [ID, '60'],
      ]);
    });

    test('keeps the key past its TTL; left alone it goes, and a watch hears of it', async () => {
      const key = `${etcd.prefix()}a`;
      const { ID } = await grant(2);
      await put(etcd.client, key, '', ID);
      const watch = await WatchStream.open(etcd.endpoint);
      await watch.create({ key: bytes(key) });
      const granted = performance.now();
      let gone = false;
      const deletion = watch.events(1).then(([event]) => {
        gone = true;
        return event;
      });
      let lastBeat = granted;
      while (lastBeat - granted < 2600) {
        await new Promise((resolve) => setTimeout(resolve, 400));
        lastBeat = performance.now();
        expect(await beats(ID)).toEqual([[ID, '2']]);
      }
      expect(gone).toBe(false);
      expect((await deletion)?.type).toBe('Delete');
      expect(performance.now() - lastBeat).toBeGreaterThan(1900);
      expect(await get(etcd.client, key)).toBeUndefined();
      expect((await info(ID)).TTL).toBe('-1');
      watch.cancel();
    });
  });
});
