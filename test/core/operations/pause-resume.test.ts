import { describe, expect, it } from 'vitest';
import { Publisher } from '../../../src/core/discovery/publisher.js';
import { readService } from '../../../src/core/discovery/read.js';
import { type PauseRequest, pauseInstances } from '../../../src/core/operations/pause.js';
import { type ResumeRequest, resumeInstances } from '../../../src/core/operations/resume.js';
import { ManualClock, settle } from '../../support/manual-clock.js';
import { MemoryStore } from '../../support/memory-etcd.js';

async function fleet(count = 3) {
  const clock = new ManualClock();
  const store = new MemoryStore(clock);
  const ports = { clock, rng: () => 0.5, defer: (fn: () => void) => void setImmediate(fn) };
  const clients = Array.from({ length: count }, () => store.client());
  const publishers = clients.map(
    (client, index) =>
      new Publisher(
        client,
        {
          service: 'user.rpc',
          address: `10.0.0.${index + 1}:80`,
          zone: index === 0 ? 'a' : 'b',
          owner: { host: 'box', pid: index, version: '0' },
        },
        ports,
      ),
  );
  await Promise.all(publishers.map((publisher) => publisher.start()));
  const operator = store.client();
  const pause = (selectors: string[], more: Partial<PauseRequest> = {}) =>
    pauseInstances(operator, { service: 'user.rpc', selectors, by: 'ann@box', reason: 'deploy', ...more }, ports);
  const resume = (selectors: string[], more: Partial<ResumeRequest> = {}) =>
    resumeInstances(operator, { service: 'user.rpc', selectors, by: 'bob@box', ...more }, ports);
  const up = () => store.keys('user.rpc/').map((key) => store.get(key)?.value.toString());
  return { clock, store, clients, publishers, pause, resume, up };
}

describe('pausing managed instances', () => {
  it('takes one out, confirmed by its owner, and puts it back', async () => {
    const { pause, resume, up, store, publishers } = await fleet();
    expect(await pause(['10.0.0.1:80'])).toMatchObject({
      service: 'user.rpc',
      outcome: 'done',
      error: null,
      instances: [{ address: '10.0.0.1:80', state: 'paused', strategy: 'managed' }],
    });
    expect(up()).toEqual(['10.0.0.2:80', '10.0.0.3:80']);
    expect(publishers[0]?.state).toBe('paused');
    const view = await readService(store.client(), 'user.rpc');
    expect(view.instances[0]).toMatchObject({
      admin: 'paused',
      pause: { by: 'ann@box', reason: 'deploy', until: null },
    });
    expect(await resume(['10.0.0.1:80'])).toMatchObject({ outcome: 'done', instances: [{ state: 'up' }] });
    expect(up().sort()).toEqual(['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80']);
  });

  it('is success when it is already so, both ways', async () => {
    const { pause, resume, store } = await fleet();
    expect(await resume(['zone=a'])).toMatchObject({
      outcome: 'already',
      instances: [{ state: 'up', condition: 'already up' }],
    });
    await pause(['zone=a']);
    const revision = store.revision;
    expect(await pause(['zone=a'])).toMatchObject({
      outcome: 'already',
      instances: [{ state: 'paused', condition: 'already paused by ann@box' }],
    });
    expect(store.revision).toBe(revision);
    await resume(['zone=a']);
    expect(await resume(['zone=a'])).toMatchObject({ outcome: 'already' });
  });

  it('resumes by itself when it was paused for a time', async () => {
    const { pause, up, clock } = await fleet();
    const paused = await pause(['host=10.0.0.1'], { forMs: 15_000 });
    expect(paused.outcome).toBe('done');
    await clock.advance(14_000);
    expect(up()).not.toContain('10.0.0.1:80');
    await clock.advance(2000);
    expect(up()).toContain('10.0.0.1:80');
  });

  it('never takes out the last one that is up, unless told so', async () => {
    const { pause, up, store } = await fleet(2);
    await pause(['10.0.0.1:80']);
    const revision = store.revision;
    await expect(pause(['10.0.0.2:80'])).rejects.toMatchObject({ code: 'GUARD_REFUSED' });
    await expect(pause([], { all: true })).rejects.toMatchObject({ code: 'GUARD_REFUSED' });
    expect(store.revision).toBe(revision);
    expect(await pause(['10.0.0.2:80'], { minAvailable: { count: 0 } })).toMatchObject({ outcome: 'done' });
    expect(up()).toEqual([]);
  });

  it('lets only one of two through that would together take out too many', async () => {
    const { pause, up } = await fleet(2);
    const outcomes = await Promise.allSettled([pause(['10.0.0.1:80']), pause(['10.0.0.2:80'])]);
    expect(outcomes.map((outcome) => outcome.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(up()).toHaveLength(1);
  });

  it('takes out and puts back a whole large fleet', async () => {
    const { pause, resume, up } = await fleet(70);
    expect(await pause([], { all: true, minAvailable: { count: 0 } })).toMatchObject({ outcome: 'done', error: null });
    expect(up()).toEqual([]);
    const back = await resume([], { all: true });
    expect(back.instances.map((instance) => instance.state)).toEqual(Array.from({ length: 70 }, () => 'up'));
    expect(up()).toHaveLength(70);
  });

  it('refuses instances that were not registered by lbctl, says what they look like, and writes nothing', async () => {
    const { pause, store } = await fleet();
    store.grant(9n, 10);
    store.put('user.rpc/9', '10.0.0.9:80', 9n);
    const revision = store.revision;
    await expect(pause(['10.0.0.9:80'])).rejects.toMatchObject({ code: 'NOT_MANAGED', message: /go-zero server/ });
    await expect(pause([], { all: true, minAvailable: { count: 0 } })).rejects.toMatchObject({ code: 'NOT_MANAGED' });
    expect(store.revision).toBe(revision);
  });

  it('says who there is when an instance is unknown or ambiguous', async () => {
    const { pause, store } = await fleet();
    await expect(pause(['10.0.0.77:80'])).rejects.toMatchObject({
      code: 'NOT_FOUND',
      suggestions: [/10\.0\.0\.1:80/, /10\.0\.0\.2:80/, /10\.0\.0\.3:80/],
    });
    store.put('user.rpc/x', '10.0.0.8:80');
    store.put('/services/user.rpc/x', '{"Address":"10.0.0.9","Port":80}');
    await expect(pause(['x'])).rejects.toMatchObject({
      code: 'AMBIGUOUS',
      suggestions: [/10\.0\.0\.8:80/, /10\.0\.0\.9:80/],
    });
    await expect(pause([])).rejects.toMatchObject({ code: 'USAGE' });
    await expect(pause(['10.0.0.1:80'], { all: true })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(pauseInstances(store.client(), { service: 'none', selectors: ['x'], by: '' })).rejects.toMatchObject({
      code: 'NO_INSTANCE',
    });
  });

  it.each(['', 'zone=', 'host='])(
    'takes %j for the unset variable that it is, not for what has no zone or id',
    async (it) => {
      const { pause, resume, store } = await fleet();
      store.put('user.rpc/', '10.0.0.8:80');
      store.put('lbctl/v1/pause/user.rpc/10.0.0.9:80', '{"by":"ann"}');
      const revision = store.revision;
      await expect(pause([it])).rejects.toMatchObject({ code: 'USAGE' });
      await expect(resume([it])).rejects.toMatchObject({ code: 'USAGE' });
      await expect(resume(['10.0.0.1:80', it])).rejects.toMatchObject({ code: 'USAGE' });
      expect(store.revision).toBe(revision);
    },
  );

  it.each(['meta', 'pause'])('claims nothing for a user who may not read the %s records', async (kind) => {
    const { pause, resume, store } = await fleet();
    await pause(['10.0.0.1:80']);
    store.denied = [`lbctl/v1/${kind}/`];
    const denied = {
      code: 'ETCD_PERMISSION_DENIED',
      message: expect.stringContaining(`lbctl/v1/${kind}/user.rpc/`),
      suggestions: [expect.stringContaining('readwrite lbctl/v1/')],
    };
    await expect(resume([], { all: true })).rejects.toMatchObject(denied);
    await expect(resume(['10.0.0.2:80'])).rejects.toMatchObject(denied);
    await expect(pause(['10.0.0.2:80'], { dryRun: true })).rejects.toMatchObject(denied);
  });

  it('says so when the owner does not follow in time, and leaves the record to be taken back', async () => {
    const { pause, resume, store, clients, publishers, clock } = await fleet();
    await settle();
    clients[0]?.die();
    for (const watcher of [...store.watchers]) store.watchers.delete(watcher);
    const pausing = pause(['10.0.0.1:80'], { confirmWithinMs: 2000 });
    await clock.advance(2500);
    expect(await pausing).toMatchObject({
      outcome: 'unconfirmed',
      error: { code: 'TIMEOUT' },
      instances: [{ state: 'up', waitedMs: 2000 }],
    });
    expect(publishers[0]?.state).toBe('registered');
    await clock.advance(10_000);
    const view = await readService(store.client(), 'user.rpc');
    expect(view.instances.find((one) => one.address === '10.0.0.1:80')).toMatchObject({
      admin: 'paused',
      notes: ['OWNER-GONE'],
    });
    expect(await pause(['10.0.0.1:80'])).toMatchObject({
      outcome: 'already',
      instances: [{ condition: /owner is gone/ }],
    });
    expect(await resume(['10.0.0.1:80'])).toMatchObject({ outcome: 'done', instances: [{ state: 'gone' }] });
  });

  it('does not write twice when the answer was lost', async () => {
    const { pause, store, up } = await fleet();
    store.loseAnswers = 1;
    expect(await pause(['10.0.0.1:80'])).toMatchObject({ outcome: 'done' });
    expect(up()).toEqual(['10.0.0.2:80', '10.0.0.3:80']);
    expect(store.get('lbctl/v1/guard/user.rpc')?.version).toBe(1n);
  });

  it('says that the outcome is unknown when the answer was lost and etcd is away', async () => {
    const { pause, store } = await fleet();
    store.loseAnswers = 1;
    const pausing = pause(['10.0.0.1:80']);
    while (store.loseAnswers > 0) await new Promise((resolve) => setImmediate(resolve));
    store.set('down');
    await expect(pausing).rejects.toMatchObject({ code: 'ETCD_OUTCOME_UNKNOWN' });
    expect(store.keys('lbctl/v1/pause/')).toHaveLength(1);
  });

  it('waits for the owner through an outage that begins after the write', async () => {
    for (const fault of ['down', 'hung'] as const) {
      const { pause, resume, store, clock } = await fleet();
      for (const operation of [() => pause(['10.0.0.1:80'], { forMs: 600_000 }), () => resume(['10.0.0.1:80'])]) {
        const { revision } = store;
        const result = operation();
        while (store.revision === revision) await new Promise((resolve) => setImmediate(resolve));
        store.set(fault);
        await clock.advance(5000);
        store.set('none');
        await clock.advance(4000);
        expect(await result).toMatchObject({ outcome: 'done', error: null });
      }
      expect(store.keys('lbctl/v1/pause/')).toEqual([]);
    }
  });

  it('claims nothing of an owner when etcd stays away after the write', async () => {
    const { pause, store, clock } = await fleet();
    const { revision } = store;
    const result = pause(['10.0.0.1:80'], { forMs: 600_000 });
    while (store.revision === revision) await new Promise((resolve) => setImmediate(resolve));
    store.set('down');
    await clock.advance(11_000);
    expect(await result).toMatchObject({ outcome: 'unconfirmed', error: { code: 'ETCD_OUTCOME_UNKNOWN' } });
    expect(store.keys('lbctl/v1/pause/')).toHaveLength(1);
  });

  it('cannot resume what its own process took out', async () => {
    const { resume, publishers } = await fleet();
    await publishers[0]?.pause('3 checks failed');
    await expect(resume(['10.0.0.1:80'])).rejects.toMatchObject({ code: 'CHECK_FAILED', message: /3 checks failed/ });
  });

  it('plans without writing', async () => {
    const { pause, store } = await fleet();
    const revision = store.revision;
    expect(await pause(['zone=b'], { dryRun: true, forMs: 60_000 })).toMatchObject({
      outcome: 'planned',
      instances: [{ address: '10.0.0.2:80', condition: 'would pause it (now: up)' }, { address: '10.0.0.3:80' }],
    });
    await settle();
    expect(store.revision).toBe(revision);
    expect(store.leases.size).toBe(3);
  });

  it('fails at once when etcd is away, and leaves nothing behind', async () => {
    const { pause, store, clock } = await fleet();
    store.set('down');
    await expect(pause(['10.0.0.1:80'])).rejects.toMatchObject({ code: 'ETCD_UNREACHABLE' });
    store.set('none');
    await clock.advance(20_000);
    expect(store.keys('lbctl/v1/pause/')).toEqual([]);
  });
});
