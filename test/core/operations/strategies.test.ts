import { describe, expect, it } from 'vitest';
import { readService, withLeases } from '../../../src/core/discovery/read.js';
import { readLog } from '../../../src/core/operations/log.js';
import { foreignFleet, inTime, jsonValue, kratosValue } from './foreign.js';

const pauseKey = 'lbctl/v1/pause/s/10.0.0.1:80';

describe('instances that lbctl did not register', () => {
  it.each(['auto', 'managed'] as const)(
    'go-zero servers are refused under %s, which names what can be done',
    async (it) => {
      const { pause, store } = foreignFleet();
      const { revision } = store;
      await expect(pause(['1'], { strategy: it })).rejects.toMatchObject({ code: 'NOT_MANAGED' });
      await expect(pause(['1'])).rejects.toMatchObject({
        suggestions: [/mask.*v1\.10\.2/, /delete.*v1\.9\.0/, /LBCTL_STRATEGY/, /lbctl register/],
      });
      expect(store.revision).toBe(revision);
    },
  );

  it('mask: overwrites the value under its lease, and resume restores it exactly', async () => {
    const { pause, resume, store, clock, value, etcd } = foreignFleet();
    const before = store.get('s/1');
    const paused = await inTime(clock, pause(['1'], { strategy: 'mask' }));
    expect(paused).toMatchObject({
      outcome: 'done',
      error: null,
      instances: [{ state: 'paused', strategy: 'mask', changed: true, why: expect.stringContaining('v1.10.2') }],
    });
    expect(store.get('s/1')).toMatchObject({ lease: before?.lease, createRevision: before?.createRevision });
    expect(value('s/1')).toBe('lbctl-paused:10.0.0.1:80');
    const [seen] = (await readService(etcd, 's')).instances;
    expect(seen).toMatchObject({ address: '10.0.0.1:80', admin: 'paused', notes: [], pause: { strategy: 'mask' } });
    expect(await inTime(clock, pause(['1'], { strategy: 'mask' }))).toMatchObject({ outcome: 'already' });

    expect(await inTime(clock, resume(['1']))).toMatchObject({ outcome: 'done', instances: [{ state: 'up' }] });
    expect(store.get('s/1')).toMatchObject({ value: before?.value, lease: before?.lease });
    expect(store.keys('lbctl/v1/pause/')).toEqual([]);
  });

  it('auto masks kratos and etcd naming and deletes json, without being asked twice', async () => {
    const { pause, resume, store, clock, value } = foreignFleet();
    store.grant(9n, 3600);
    store.put('/microservices/s/k', kratosValue, 9n);
    store.put('s/e', '{"Op":0,"Addr":"10.0.0.9:80","Metadata":null}', 9n);
    store.put('/services/s/j', jsonValue, 9n);
    const paused = await inTime(clock, pause(['k', 'e', 'j']));
    expect(paused.instances.map(({ address, strategy }) => [address, strategy])).toEqual([
      ['10.0.0.7:80', 'mask'],
      ['10.0.0.8:80', 'delete'],
      ['10.0.0.9:80', 'mask'],
    ]);
    expect(store.get('/services/s/j')).toBeUndefined();
    expect(JSON.parse(value('/microservices/s/k') ?? '')).toMatchObject({ endpoints: [] });
    await inTime(clock, resume([], { all: true }));
    expect(value('/services/s/j')).toBe(jsonValue);
    expect(store.get('/services/s/j')?.lease).toBe(9n);
    expect(value('/microservices/s/k')).toBe(kratosValue);
    expect(value('s/e')).toBe('{"Op":0,"Addr":"10.0.0.9:80","Metadata":null}');
  });

  it('refuses to mask what no json client would let go of', async () => {
    const { pause, store } = foreignFleet();
    store.put('/services/s/j', jsonValue, 11n);
    await expect(pause(['j'], { strategy: 'mask' })).rejects.toMatchObject({
      code: 'NOT_MANAGED',
      suggestions: [/--strategy delete/, /./],
    });
  });

  it('deletes a key without a lease, which nobody would put back, and puts it back without one', async () => {
    const { pause, resume, store, clock } = foreignFleet();
    store.put('s/8', '10.0.0.80:80');
    expect(await inTime(clock, pause(['8']))).toMatchObject({ instances: [{ strategy: 'delete', state: 'paused' }] });
    expect(store.get('s/8')).toBeUndefined();
    await inTime(clock, resume(['10.0.0.80:80']));
    expect(store.get('s/8')).toMatchObject({ lease: 0n, value: Buffer.from('10.0.0.80:80') });
  });

  it('delete: resume brings the key back while its lease lives, and only removes the record afterwards', async () => {
    const { pause, resume, store, clock, etcd, lease } = foreignFleet();
    await inTime(clock, pause(['1', '2'], { strategy: 'delete' }));
    store.revoke(lease(2));
    const { instances } = await readService(etcd, 's');
    const asked = await withLeases(etcd, instances);
    expect(asked.map(({ id, admin, notes }) => [id, admin, notes])).toEqual([
      ['1', 'paused', []],
      ['2', 'paused', ['OWNER-GONE']],
      ['3', 'up', []],
    ]);
    const back = await inTime(clock, resume([], { all: true }));
    expect(back.instances.map(({ address, state }) => [address, state])).toEqual([
      ['10.0.0.1:80', 'up'],
      ['10.0.0.2:80', 'gone'],
      ['10.0.0.3:80', 'up'],
    ]);
    expect(store.get('s/1')?.lease).toBe(lease(1));
    expect(store.get('s/2')).toBeUndefined();
    expect(store.keys('lbctl/v1/pause/')).toEqual([]);
  });

  it('says within --verify that an owner put its key back, and what to do', async () => {
    const { pause, store, clock, lease, etcd } = foreignFleet();
    const pausing = pause(['1'], { strategy: 'delete' });
    while (store.get('s/1')) await clock.advance(0);
    await clock.advance(1000);
    store.put('s/1', '10.0.0.1:80', lease(1));
    expect(await inTime(clock, pausing)).toMatchObject({
      outcome: 'unconfirmed',
      instances: [{ state: 'up' }],
      error: { code: 'OWNER_REREGISTERED', suggestions: expect.arrayContaining([expect.stringContaining('mask')]) },
    });
    expect((await readService(etcd, 's')).instances[0]).toMatchObject({ admin: 'up', notes: ['CAME-BACK'] });
    // Once more it is taken out, though there is a record.
    expect(await inTime(clock, pause(['1'], { strategy: 'mask' }))).toMatchObject({ outcome: 'done' });
  });

  it('knows an owner that writes its value again over the mask', async () => {
    const { pause, store, clock, lease, etcd } = foreignFleet();
    await inTime(clock, pause(['1'], { strategy: 'mask' }));
    store.put('s/1', '10.0.0.1:80', lease(1));
    expect((await readService(etcd, 's')).instances[0]).toMatchObject({
      admin: 'up',
      notes: ['CAME-BACK'],
      pause: { cameBack: true },
    });
  });

  it('resumes what was masked though its record is lost', async () => {
    const { pause, resume, store, clock, value } = foreignFleet();
    await inTime(clock, pause(['1'], { strategy: 'mask' }));
    store.write([{ delete: { key: pauseKey } }]);
    expect(await inTime(clock, resume(['1']))).toMatchObject({ outcome: 'done', instances: [{ state: 'up' }] });
    expect(value('s/1')).toBe('10.0.0.1:80');
  });

  it('leaves a registration alone that came under the key meanwhile', async () => {
    const { pause, resume, store, clock, value, lease } = foreignFleet();
    await inTime(clock, pause(['1'], { strategy: 'mask' }));
    store.revoke(lease(1));
    store.grant(99n, 3600);
    store.put('s/1', '10.0.0.1:80', 99n);
    await inTime(clock, resume(['1']));
    expect(store.get('s/1')).toMatchObject({ lease: 99n });
    expect(value('s/1')).toBe('10.0.0.1:80');
    expect(store.keys('lbctl/v1/pause/')).toEqual([]);
  });

  it.each(['10.0.0.9:80', 'lbctl-paused:10.0.0.9:80'])(
    'does not put an old value over %s, which a new life of the server wrote',
    async (now) => {
      const { pause, resume, store, clock, value, lease } = foreignFleet();
      await inTime(clock, pause(['1'], { strategy: 'mask' }));
      store.revoke(lease(1));
      store.grant(99n, 3600);
      store.put('s/1', now, 99n);
      expect(await inTime(clock, resume(['10.0.0.1:80']))).toMatchObject({ instances: [{ state: 'gone' }] });
      expect(value('s/1')).toBe(now);
      expect(store.keys('lbctl/v1/pause/')).toEqual([]);
    },
  );

  it('removes records whose instance is gone for good with the next command, and says so', async () => {
    const { pause, store, clock, lease, etcd } = foreignFleet();
    await inTime(clock, pause(['1'], { strategy: 'mask' }));
    expect(await inTime(clock, pause(['1'], { strategy: 'mask' }))).toMatchObject({ cleaned: [] });
    store.revoke(lease(1));
    expect(await inTime(clock, pause(['2'], { strategy: 'mask' }))).toMatchObject({ cleaned: ['10.0.0.1:80'] });
    expect(store.keys('lbctl/v1/pause/')).toEqual(['lbctl/v1/pause/s/10.0.0.2:80']);
    expect((await readLog(etcd, 's')).entries.at(-1)).toMatchObject({
      what: /gone for good/,
      addresses: ['10.0.0.1:80'],
    });
  });

  it.each(['drain', 'roll', 'hold'] as const)(
    'keeps the record of a %s, which brings its instance back',
    async (verb) => {
      const { pause, store, clock, lease } = foreignFleet();
      await inTime(clock, pause(['1'], { strategy: 'mask', verb }));
      store.revoke(lease(1));
      expect(await inTime(clock, pause(['2'], { strategy: 'mask' }))).toMatchObject({ cleaned: [] });
    },
  );

  it('does not pass the guard on an instance that was put back in spite of its pause and does not answer', async () => {
    const { pause, clock } = foreignFleet();
    const answering = async () => new Set(['10.0.0.2:80']);
    await expect(
      inTime(clock, pause(['1'], { strategy: 'mask', minAvailable: { count: 2 }, answering })),
    ).rejects.toMatchObject({
      code: 'GUARD_REFUSED',
      message: expect.stringMatching(
        /min-available 2.*1 would be left.*1 more are registered and do not answer.*2 must/,
      ),
    });
    await inTime(clock, pause(['1'], { strategy: 'mask', minAvailable: { count: 1 }, answering }));
  });

  it.each([
    [{ percent: 67 }, 1, 'GUARD_REFUSED'],
    [{ percent: 66 }, 1, null],
    [{ percent: 66 }, 2, 'GUARD_REFUSED'],
    [{ percent: 0 }, 3, null],
    [{ count: 3 }, 1, 'GUARD_REFUSED'],
  ])('a minimum of %o lets %i of three go: %s', async (minAvailable, count, code) => {
    const { pause, clock } = foreignFleet();
    const ids = ['1', '2', '3'].slice(0, count);
    const pausing = inTime(clock, pause(ids, { strategy: 'mask', minAvailable }));
    if (code === null) expect(await pausing).toMatchObject({ outcome: 'done' });
    else await expect(pausing).rejects.toMatchObject({ code });
  });

  it('counts on nobody who leaves between the plan and the write', async () => {
    const { pause, clock, store, lease, value } = foreignFleet();
    let plans = 0;
    // The first plan is what is shown; each transaction has one of its own.
    const answering = async () => {
      if (++plans === 2) store.revoke(lease(3));
      return new Set(['10.0.0.2:80', '10.0.0.3:80']);
    };
    await expect(
      inTime(clock, pause(['1'], { strategy: 'mask', minAvailable: { count: 2 }, answering })),
    ).rejects.toMatchObject({ code: 'GUARD_REFUSED' });
    expect(value('s/1')).toBe('10.0.0.1:80');
  });

  it('keeps the lease that is there, not the one that was there when it planned', async () => {
    const { pause, resume, clock, store, lease, value } = foreignFleet();
    let plans = 0;
    const answering = async () => {
      if (++plans === 2) {
        store.revoke(lease(1));
        store.grant(99n, 3600);
        store.put('s/1', '10.0.0.1:80', 99n);
      }
      return new Set(['10.0.0.2:80']);
    };
    await inTime(clock, pause(['1'], { strategy: 'delete', answering }));
    await inTime(clock, resume(['1']));
    expect(store.get('s/1')?.lease).toBe(99n);
    expect(value('s/1')).toBe('10.0.0.1:80');
  });

  it.each([0, 3000])('claims nothing of what a wiped etcd made of it, watched for %i ms', async (verifyMs) => {
    const { pause, store, clock } = foreignFleet();
    const pausing = pause(['1'], { strategy: 'mask', verifyMs });
    while (store.keys(pauseKey).length === 0) await new Promise((resolve) => setImmediate(resolve));
    store.wipe();
    expect(await inTime(clock, pausing)).toMatchObject({ error: { code: 'ETCD_OUTCOME_UNKNOWN' } });
  });

  it.each(['down', 'hung'] as const)('claims nothing when etcd is %s while it is watched', async (fault) => {
    const { pause, store, clock } = foreignFleet();
    const pausing = pause(['1'], { strategy: 'mask' });
    while (store.keys(pauseKey).length === 0) await clock.advance(0);
    await clock.advance(500);
    store.set(fault);
    expect(await inTime(clock, pausing)).toMatchObject({
      outcome: 'unconfirmed',
      error: { code: 'ETCD_OUTCOME_UNKNOWN', message: /unknown/ },
    });
  });

  it('tells of a colleague who resumed it while it is watched', async () => {
    const { pause, resume, clock, store } = foreignFleet();
    const pausing = pause(['1'], { strategy: 'mask' });
    while (store.keys(pauseKey).length === 0) await clock.advance(0);
    await clock.advance(500);
    await inTime(clock, resume(['1'], { by: 'bob@box' }));
    expect(await inTime(clock, pausing)).toMatchObject({ error: { code: 'WRITE_CONFLICT', message: /resumed/ } });
  });
});
