import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sleep } from '../../../../src/core/model/clock.js';
import { pauseInstances } from '../../../../src/core/operations/pause.js';
import { resumeInstances } from '../../../../src/core/operations/resume.js';
import { Fleet, Operator, service } from './fleet.js';

const one = '10.0.0.1:80';
const restart = ['systemctl', 'restart', 'user'];
const all = ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80'];
const pauseKey = `lbctl/v1/pause/${service}/${one}`;
const claimKey = `lbctl/v1/drain/${service}/${one}`;

describe('a drain without a command', () => {
  it('takes it out, waits for the observers, and leaves it out', async () => {
    const fleet = await Fleet.of(3);
    const ann = new Operator(fleet, 'ann');
    fleet.observe('web/1');
    fleet.observe('web/2');
    const drained = ann.drain([one]);
    await fleet.clock.advance(5000);
    fleet.observe('web/1', { inFlight: 2 });
    await fleet.clock.advance(1000);
    expect(ann.progress.at(-1)).toBe(
      `${one} observers waiting: 0 of 2 observers, web/2 has not applied it, 2 calls in flight at web/1`,
    );
    fleet.observe('web/1');
    fleet.observe('web/2');
    expect(await fleet.during(drained)).toMatchObject({
      outcome: 'done',
      error: null,
      instances: [{ address: one, state: 'paused', condition: 'drained' }],
    });
    expect(ann.progress.at(-1)).toBe(`${one} observers met: 2 of 2 observers`);
    expect(fleet.addresses()).toEqual(all.slice(1));
    // A second one joins: there is nothing left to do.
    expect(await fleet.during(new Operator(fleet, 'bob').drain([one]))).toMatchObject({ outcome: 'done' });
  });

  it('waits for the last connection and the grace, and says what it had when the time is over', async () => {
    const fleet = await Fleet.of(3);
    const ann = new Operator(fleet, 'ann');
    fleet.connections = 2;
    const late = await fleet.during(ann.drain([one], { untilIdle: true, waitMs: 4000 }));
    expect(late).toMatchObject({ outcome: 'failed', instances: [{ state: 'paused' }], error: { code: 'TIMEOUT' } });
    expect(late.error?.message).toContain('idle (2 established connections)');
    expect(late.error?.message).toContain('it stays out of rotation');
    expect(late.error?.suggestions).toEqual([
      'The same command line goes on with it.',
      `lbctl resume ${service} ${one} puts it back.`,
    ]);
    fleet.connections = 0;
    const startedAt = fleet.clock.monotonic();
    expect(await fleet.during(ann.drain([one], { untilIdle: true, graceMs: 3000 }))).toMatchObject({ outcome: 'done' });
    expect(fleet.clock.monotonic() - startedAt).toBeGreaterThanOrEqual(3000);
    expect(fleet.clock.monotonic() - startedAt).toBeLessThan(4000);
  });

  it('refuses before anything is written: the guard, unknown instances, connections it cannot see', async () => {
    const fleet = await Fleet.of(2);
    const ann = new Operator(fleet, 'ann');
    const before = fleet.store.revision;
    await expect(fleet.during(ann.drain(['10.0.0.1:80', '10.0.0.2:80']))).rejects.toMatchObject({
      code: 'GUARD_REFUSED',
    });
    await expect(fleet.during(ann.drain(['10.9.9.9:80']))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(fleet.during(ann.drain([one], { health: 'nonsense' }))).rejects.toMatchObject({ code: 'USAGE' });
    fleet.servers.clear();
    await fleet.startServer('192.0.2.1:80');
    await expect(fleet.during(ann.drain(['192.0.2.1:80'], { untilIdle: true }))).rejects.toMatchObject({
      code: 'USAGE',
      suggestions: expect.arrayContaining([expect.stringContaining('--grace')]),
    });
    expect(fleet.store.keys('lbctl/v1/pause')).toEqual([]);
    expect(fleet.store.revision).toBe(before + 1n);
  });

  it('a resume by somebody else in between is told, and not fought', async () => {
    const fleet = await Fleet.of(3);
    const ann = new Operator(fleet, 'ann');
    const drained = ann.drain([one], { graceMs: 30_000 });
    await fleet.clock.advance(2000);
    fleet.store.delete(pauseKey);
    expect(await fleet.during(drained)).toMatchObject({
      outcome: 'failed',
      instances: [{ state: 'up' }],
      error: { code: 'WRITE_CONFLICT' },
    });
  });

  it('an outage is time that passes; at the end of the time it is said that etcd was away', async () => {
    const fleet = await Fleet.of(3);
    const ann = new Operator(fleet, 'ann');
    const drained = ann.drain([one], { graceMs: 10_000 });
    await fleet.clock.advance(1000);
    fleet.store.set('down');
    await fleet.clock.advance(5000);
    expect(ann.progress.at(-1)).toContain('etcd does not answer');
    fleet.store.set('none');
    expect(await fleet.during(drained)).toMatchObject({ outcome: 'done' });

    for (const fault of ['down', 'hung'] as const) {
      const bob = new Operator(fleet, 'bob');
      const failed = bob.drain([one], { graceMs: 10_000, waitMs: 15_000 });
      await fleet.clock.advance(1000);
      fleet.store.set(fault);
      expect(await fleet.during(failed)).toMatchObject({
        outcome: 'failed',
        instances: [{ state: 'unknown' }],
        error: {
          code: fault === 'down' ? 'ETCD_UNREACHABLE' : 'ETCD_TIMEOUT',
          message: expect.stringMatching(/^Unknown whether .* etcd has not answered for 1\ds of the 15s/),
        },
      });
      fleet.store.set('none');
      await fleet.clock.advance(1000);
    }
  });
});

describe('a drain with a command', () => {
  it('restarts it out of rotation and puts it back', async () => {
    const fleet = await Fleet.of(3);
    const ann = new Operator(fleet, 'ann');
    let during: unknown;
    ann.command = async (address) => {
      during = fleet.addresses();
      return ann.restart(address);
    };
    expect(await fleet.during(ann.drain([one], { command: restart }))).toMatchObject({
      outcome: 'done',
      instances: [{ state: 'up', condition: 'drained, restarted and resumed' }],
    });
    expect(during).toEqual(all.slice(1));
    expect(fleet.addresses()).toEqual(all);
    expect(ann.commands).toEqual([`systemctl restart user @${one}`]);
    await fleet.clock.advance(6000);
    expect(fleet.store.keys('lbctl/v1/drain')).toEqual([]);
    expect(fleet.store.keys('lbctl/v1/pause')).toEqual([]);
  });

  it('restarts what somebody had paused before, and leaves it paused', async () => {
    const fleet = await Fleet.of(3);
    const [ann, bob] = [new Operator(fleet, 'ann'), new Operator(fleet, 'bob')];
    const paused = { service: 'user.rpc', selectors: [one], by: 'bob@box', reason: 'disk' };
    await fleet.during(pauseInstances(bob.etcd, paused, fleet.basePorts));
    expect(await fleet.during(ann.drain([one], { command: restart }))).toMatchObject({
      outcome: 'done',
      instances: [{ state: 'paused', condition: expect.stringContaining('it stays out, as it was paused before') }],
    });
    expect(ann.commands).toHaveLength(1);
    expect(fleet.addresses()).toEqual(all.slice(1));
  });

  it('says of the drain that it joined what is so: it stays paused', async () => {
    const fleet = await Fleet.of(3);
    const [ann, bob, cleo] = [new Operator(fleet, 'ann'), new Operator(fleet, 'bob'), new Operator(fleet, 'cleo')];
    const paused = { service: 'user.rpc', selectors: [one], by: 'cleo@box', reason: 'disk' };
    await fleet.during(pauseInstances(cleo.etcd, paused, fleet.basePorts));
    ann.command = (address) => ann.restart(address, 4000);
    const first = ann.drain([one], { command: restart });
    await fleet.clock.advance(2000);
    const both = await fleet.during(Promise.all([first, bob.drain([one], { command: restart })]));
    expect(both).toMatchObject([
      { outcome: 'done', instances: [{ state: 'paused' }] },
      { outcome: 'joined', instances: [{ state: 'paused', condition: expect.stringContaining('by ann@box') }] },
    ]);
    expect(bob.commands).toEqual([]);
  });

  it('is no success when somebody resumed it while the command ran', async () => {
    const fleet = await Fleet.of(3);
    const [ann, bob] = [new Operator(fleet, 'ann'), new Operator(fleet, 'bob')];
    ann.command = async () => {
      await resumeInstances(bob.etcd, { service: 'user.rpc', selectors: [one], by: 'bob@box' }, fleet.basePorts);
      await sleep(fleet.clock, 2000);
      return 0;
    };
    expect(await fleet.during(ann.drain([one], { command: restart }))).toMatchObject({
      outcome: 'failed',
      error: { code: 'WRITE_CONFLICT', message: expect.stringMatching(/resumed by somebody.*it is in rotation/) },
    });
  });

  it.each(['keep', 'resume'] as const)('a command that fails: --on-failure %s', async (onFailure) => {
    const fleet = await Fleet.of(3);
    const ann = new Operator(fleet, 'ann');
    ann.command = async () => 3;
    const result = await fleet.during(ann.drain([one], { command: restart, onFailure }));
    expect(result).toMatchObject({ outcome: 'failed', exitCode: 3, error: { code: 'COMMAND_FAILED' } });
    expect(result.instances[0]?.state).toBe(onFailure === 'keep' ? 'paused' : 'up');
    expect(fleet.addresses()).toEqual(onFailure === 'keep' ? all.slice(1) : all);
    expect(fleet.store.keys('lbctl/v1/drain')).toEqual([]);
  });

  it('an instance that comes back sick stays out, exit 6; one that does not come back at all, too', async () => {
    const fleet = await Fleet.of(3);
    const ann = new Operator(fleet, 'ann');
    fleet.sick.add(one);
    const sick = await fleet.during(ann.drain([one], { command: restart, waitMs: 5000 }));
    expect(sick).toMatchObject({ error: { code: 'CHECK_FAILED' }, instances: [{ state: 'paused' }] });
    expect(sick.error?.message).toContain(`healthy (tcp://${one}: refused)`);
    fleet.sick.clear();
    ann.command = async (address) => {
      await fleet.stopServer(address);
      return 0;
    };
    const gone = await fleet.during(ann.drain([one], { command: restart, waitMs: 5000 }));
    expect(gone.error?.message).toContain('back (nobody registers the address)');
    expect(fleet.addresses()).toEqual(all.slice(1));
  });

  it('Ctrl-C while the command runs: ends it, keeps the instance out, says so', async () => {
    const fleet = await Fleet.of(3);
    const ann = new Operator(fleet, 'ann');
    ann.command = async (_, signal) => {
      await sleep(fleet.clock, 60_000, signal);
      return 130;
    };
    const drained = ann.drain([one], { command: restart });
    await fleet.clock.advance(3000);
    expect(ann.commands).toHaveLength(1);
    ann.interrupt();
    expect(await fleet.during(drained, 5000)).toMatchObject({
      outcome: 'interrupted',
      error: null,
      instances: [{ state: 'paused', condition: 'interrupted; it stays out of rotation' }],
    });
    expect(fleet.store.keys('lbctl/v1/drain')).toEqual([]);
  });

  it('a second one waits for the first, and its success is the success of both; the command runs once', async () => {
    const fleet = await Fleet.of(3);
    const [ann, bob] = [new Operator(fleet, 'ann'), new Operator(fleet, 'bob')];
    ann.command = (address) => ann.restart(address, 4000);
    const first = ann.drain([one], { command: restart });
    await fleet.clock.advance(2000);
    const second = bob.drain([one], { command: restart });
    expect(await fleet.during(Promise.all([first, second]))).toMatchObject([
      { outcome: 'done' },
      { outcome: 'joined', instances: [{ state: 'up', condition: 'drained and resumed by ann@box' }] },
    ]);
    expect([ann.commands.length, bob.commands.length]).toEqual([1, 0]);
    expect(bob.progress[0]).toMatch(/claim waiting: ann@box \(process 1 on ann, since .*\) drains it$/);
  });

  it.each(['time is over', 'Ctrl-C'])(
    'one that gives up waiting for the first (%s) does not put back what that one works on',
    async (how) => {
      const fleet = await Fleet.of(3);
      const [ann, bob] = [new Operator(fleet, 'ann'), new Operator(fleet, 'bob')];
      ann.command = (address) => ann.restart(address, 20_000);
      const first = ann.drain([one], { command: restart });
      await fleet.clock.advance(2000);
      const waitMs = how === 'Ctrl-C' ? 60_000 : 4000;
      const second = bob.drain([one], { command: restart, waitMs, onFailure: 'resume' });
      await fleet.clock.advance(1000);
      if (how === 'Ctrl-C') bob.interrupt();
      expect((await fleet.during(second, 10_000)).instances[0]).toMatchObject({
        state: 'paused',
        condition: expect.stringContaining('not resumed: ann@box (process 1'),
      });
      expect(await fleet.during(first)).toMatchObject({ outcome: 'done', instances: [{ state: 'up' }] });
    },
  );

  it('another command is not done by the first: it runs after it', async () => {
    const fleet = await Fleet.of(3);
    const [ann, bob] = [new Operator(fleet, 'ann'), new Operator(fleet, 'bob')];
    ann.command = (address) => ann.restart(address, 4000);
    const first = ann.drain([one], { command: restart });
    await fleet.clock.advance(2000);
    const second = bob.drain([one], { command: ['other'] });
    expect(await fleet.during(Promise.all([first, second]))).toMatchObject([{ outcome: 'done' }, { outcome: 'done' }]);
    expect(bob.commands).toEqual([`other @${one}`]);
    expect(fleet.addresses()).toEqual(all);
  });

  it('when the first dies, the second takes over', async () => {
    const fleet = await Fleet.of(3);
    const [ann, bob] = [new Operator(fleet, 'ann'), new Operator(fleet, 'bob')];
    ann.command = (address) => ann.restart(address, 4000);
    void ann.drain([one], { command: restart });
    await fleet.clock.advance(2000);
    const second = bob.drain([one], { command: restart });
    await fleet.clock.advance(500);
    ann.kill();
    expect(await fleet.during(second)).toMatchObject({ outcome: 'done', instances: [{ state: 'up' }] });
    expect(bob.commands).toHaveLength(1);
    expect(bob.progress.some((line) => line.includes('claim met: taken over from ann@box'))).toBe(true);
  });

  it('an outage longer than the claim: whoever came meanwhile has it, and the first stops its command (exit 8)', async () => {
    const fleet = await Fleet.of(3);
    const ann = new Operator(fleet, 'ann');
    let stopped = false;
    ann.command = async (_, signal) => {
      await sleep(fleet.clock, 120_000, signal);
      stopped = signal.aborted;
      return 143;
    };
    const first = ann.drain([one], { command: restart });
    await fleet.clock.advance(3000);
    expect(ann.commands).toHaveLength(1);
    // Its lease ran out, and another is there before it can claim again.
    const lease = fleet.store.get(claimKey)?.lease ?? 0n;
    fleet.store.revoke(lease);
    fleet.store.put(claimKey, JSON.stringify({ by: 'bob@box', host: 'bob', pid: 2, command: restart }));
    expect(await fleet.during(first, 20_000)).toMatchObject({ outcome: 'failed', error: { code: 'LEASE_LOST' } });
    expect(stopped).toBe(true);
    expect(fleet.store.get(claimKey)?.value.toString()).toContain('bob@box');
  });

  it('a server that lbctl does not own is masked, kept out when its restart registers it anew, and put back', async () => {
    const fleet = await Fleet.of(2);
    let server = await fleet.startForeign('10.0.0.3:80');
    const ann = new Operator(fleet, 'ann');
    const seen: (string | undefined)[][] = [];
    ann.command = async () => {
      seen.push(fleet.addresses());
      await server.stop();
      await sleep(fleet.clock, 500);
      server = await fleet.startForeign('10.0.0.3:80');
      await sleep(fleet.clock, 300);
      seen.push(fleet.addresses());
      return 0;
    };
    const request = { command: restart, strategy: 'mask', health: 'tcp' } as const;
    fleet.serving.add('10.0.0.3:80');
    expect(await fleet.during(ann.drain(['10.0.0.3:80'], request))).toMatchObject({
      outcome: 'done',
      error: null,
      instances: [{ state: 'up', strategy: 'mask' }],
    });
    expect(seen).toEqual([
      ['10.0.0.1:80', '10.0.0.2:80', 'lbctl-paused:10.0.0.3:80'],
      ['10.0.0.1:80', '10.0.0.2:80', 'lbctl-paused:10.0.0.3:80'],
    ]);
    expect(ann.said).toEqual(['10.0.0.3:80 registered again, and was taken out again (mask).']);
    expect(fleet.addresses()).toEqual(all);
    expect(fleet.store.keys('lbctl/v1/pause')).toEqual([]);
  });

  it('a key that was deleted is back when somebody keeps one alive there again, not before', async () => {
    const fleet = await Fleet.of(2);
    const server = await fleet.startForeign('10.0.0.3:80');
    fleet.serving.add('10.0.0.3:80');
    const ann = new Operator(fleet, 'ann');
    ann.command = async () => {
      await server.stop();
      return 0;
    };
    const request = { command: restart, strategy: 'delete', waitMs: 5000 } as const;
    const late = await fleet.during(ann.drain(['10.0.0.3:80'], request));
    expect(late).toMatchObject({ error: { code: 'TIMEOUT' }, instances: [{ state: 'paused' }] });
    expect(late.error?.message).toContain('back (nobody registers the address)');
    ann.command = async () => {
      await fleet.startForeign('10.0.0.3:80');
      return 0;
    };
    expect(await fleet.during(ann.drain(['10.0.0.3:80'], request))).toMatchObject({ outcome: 'done' });
    expect(fleet.addresses()).toEqual(all);
  });

  it('on failure, what somebody else had paused before stays paused', async () => {
    const fleet = await Fleet.of(3);
    const ann = new Operator(fleet, 'ann');
    const request = { service, selectors: [one], by: 'eve@box', verb: 'pause' } as const;
    await fleet.during(pauseInstances(fleet.store.client(), request, fleet.basePorts));
    ann.command = async () => 1;
    const result = await fleet.during(ann.drain([one], { command: restart, onFailure: 'resume' }));
    expect(result.instances[0]).toMatchObject({
      state: 'paused',
      condition: expect.stringContaining('it was paused before, by eve@box'),
    });
  });

  it.each(['while it waits', 'while the command runs'])(
    'etcd is wiped %s: unknown, exit 4, never success',
    async (when) => {
      const fleet = await Fleet.of(3);
      const ann = new Operator(fleet, 'ann');
      ann.command = async (address) => {
        if (when === 'while the command runs') fleet.store.wipe();
        return ann.restart(address, 3000);
      };
      const drained = ann.drain([one], { command: restart, graceMs: 5000 });
      await fleet.clock.advance(2000);
      if (when === 'while it waits') fleet.store.wipe();
      const result = await fleet.during(drained);
      expect(result).toMatchObject({ outcome: 'failed', error: { code: 'ETCD_OUTCOME_UNKNOWN' } });
      expect(result.error?.message).toContain('wiped');
    },
  );

  it('kill -9 at any moments, any number of times, and run again: always ends drained, restarted and resumed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({ livesMs: fc.integer({ min: 0, max: 4000 }), pauseMs: fc.integer({ min: 0, max: 8000 }) }),
          {
            maxLength: 4,
          },
        ),
        fc.boolean(),
        async (lives, together) => {
          const fleet = await Fleet.of(3);
          const killed: Operator[] = [];
          for (const [index, { livesMs, pauseMs }] of lives.entries()) {
            const operator = new Operator(fleet, `op${index}`);
            killed.push(operator);
            void operator.drain([one], { command: restart, graceMs: 500 }).catch(() => {});
            await fleet.clock.advance(livesMs);
            operator.kill();
            await fleet.clock.advance(pauseMs);
          }
          const last = [new Operator(fleet, 'last'), ...(together ? [new Operator(fleet, 'other')] : [])];
          const results = await fleet.during(
            Promise.all(
              last.map(async (operator) => {
                // The registration of a process that was cut down is gone with its lease, without a pause as well.
                for (;;) {
                  const result = await operator
                    .drain([one], { command: restart, graceMs: 500 })
                    .catch((error: { code: string }) => error);
                  if (!('code' in result)) return result;
                  if (result.code !== 'NOT_FOUND') throw result;
                  await fleet.startServer(one);
                }
              }),
            ),
          );
          for (const result of results) {
            expect(result).toMatchObject({ error: null, instances: [{ address: one, state: 'up' }] });
            expect(['done', 'joined']).toContain(result.outcome);
          }
          expect(last.reduce((sum, { commands }) => sum + commands.length, 0)).toBeGreaterThanOrEqual(1);
          expect(fleet.addresses()).toEqual(all);
          expect(fleet.store.keys('lbctl/v1/pause')).toEqual([]);
          await fleet.clock.advance(6000);
          expect(fleet.store.keys('lbctl/v1/drain')).toEqual([]);
          expect(fleet.addresses()).toEqual(all);
        },
      ),
      { numRuns: 25 },
    );
  }, 60_000);
});
