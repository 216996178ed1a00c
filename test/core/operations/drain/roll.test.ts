import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sleep } from '../../../../src/core/model/clock.js';
import { pauseInstances } from '../../../../src/core/operations/pause.js';
import { Fleet, Operator, service } from './fleet.js';

const command = ['deploy', '{host}', '--port={port}', '{address}'];
const all = ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80', '10.0.0.4:80'];
const ranAt = (operator: Operator) => operator.commands.map((line) => line.split('@')[1]);
const stateKey = `lbctl/v1/roll/${service}/state`;
const lockKey = `lbctl/v1/roll/${service}/lock`;

it('restarts all, one after the other, with the placeholders filled, and leaves nothing behind', async () => {
  const fleet = await Fleet.of(4);
  const ann = new Operator(fleet, 'ann');
  let fewest = 4;
  ann.command = (address) => {
    fewest = Math.min(fewest, fleet.addresses().length);
    return ann.restart(address);
  };
  expect(await fleet.during(ann.roll(command))).toMatchObject({
    outcome: 'done',
    error: null,
    instances: all.map((address) => ({ address, state: 'up' })),
  });
  expect(ann.commands[0]).toBe('deploy 10.0.0.1 --port=80 10.0.0.1:80 @10.0.0.1:80');
  expect(ranAt(ann)).toEqual(all);
  expect(fewest).toBe(3);
  await fleet.clock.advance(6000);
  expect(fleet.addresses()).toEqual(all);
  for (const kind of ['pause', 'roll', 'drain']) expect(fleet.store.keys(`lbctl/v1/${kind}/`)).toEqual([]);
});

it.each([
  [2, 1, 2],
  [4, 2, 2],
  [10, 0, 4],
])('--max-unavailable %i with --min-available %i: %i at once at most', async (maxUnavailable, count, most) => {
  const fleet = await Fleet.of(4);
  const ann = new Operator(fleet, 'ann');
  let atOnce = 0;
  let highest = 0;
  ann.command = async (address) => {
    highest = Math.max(highest, ++atOnce);
    const code = await ann.restart(address, 2000);
    atOnce--;
    return code;
  };
  expect(await fleet.during(ann.roll(command, { maxUnavailable, minAvailable: { count } }))).toMatchObject({
    outcome: 'done',
  });
  expect(ranAt(ann).sort()).toEqual(all);
  expect(highest).toBe(most);
});

it('stops at the first failure and says what is done, what failed, what is left; the same command goes on', async () => {
  const fleet = await Fleet.of(4);
  const ann = new Operator(fleet, 'ann');
  ann.command = (address) => (address === all[1] ? Promise.resolve(3) : ann.restart(address));
  const failed = await fleet.during(ann.roll(command));
  expect(failed).toMatchObject({
    outcome: 'failed',
    error: { code: 'PARTLY_DONE' },
    instances: [{ state: 'up' }, { state: 'paused' }, { condition: 'not begun' }, { condition: 'not begun' }],
  });
  expect(failed.error?.message).toMatch(
    /^Rolled 10\.0\.0\.1:80 of user\.rpc; then: .*failed with exit code 3.*Not begun: 10\.0\.0\.3:80, 10\.0\.0\.4:80\.$/,
  );
  expect(ranAt(ann)).toEqual(all.slice(0, 2));

  const bob = new Operator(fleet, 'bob');
  await expect(fleet.during(bob.roll(['other']))).rejects.toMatchObject({
    code: 'GUARD_REFUSED',
    message: expect.stringContaining('deploy {host} --port={port} {address} (ann@box, since'),
    suggestions: expect.arrayContaining([expect.stringContaining('--restart')]),
  });
  expect(await fleet.during(bob.roll(command))).toMatchObject({
    outcome: 'done',
    instances: [{ condition: 'done before' }, { state: 'up' }, { state: 'up' }, { state: 'up' }],
  });
  expect(ranAt(bob)).toEqual(all.slice(1));
  expect(bob.said[0]).toContain('1 done before');
  expect(fleet.store.keys('lbctl/v1/roll/')).toEqual([]);
});

it('the first that fails gives its own exit code; --restart begins anew', async () => {
  const fleet = await Fleet.of(4);
  const ann = new Operator(fleet, 'ann');
  ann.command = async () => 3;
  expect(await fleet.during(ann.roll(command))).toMatchObject({ exitCode: 3, error: { code: 'COMMAND_FAILED' } });
  const bob = new Operator(fleet, 'bob');
  expect(await fleet.during(bob.roll(['other'], { restart: true }))).toMatchObject({ outcome: 'done' });
  expect(ranAt(bob)).toHaveLength(4);
});

it('leaves out what somebody has paused, and goes on with what an unfinished drain has left out', async () => {
  const fleet = await Fleet.of(4);
  const pause = (verb: 'pause' | 'drain', address: string) =>
    pauseInstances(
      fleet.store.client(),
      { service, selectors: [address], by: 'eve@box', reason: 'disk', verb },
      fleet.basePorts,
    );
  await fleet.during(pause('pause', '10.0.0.2:80'));
  await fleet.during(pause('drain', '10.0.0.3:80'));
  const ann = new Operator(fleet, 'ann');
  const result = await fleet.during(ann.roll(command));
  expect(result).toMatchObject({ outcome: 'done', instances: [{}, { state: 'paused' }, { state: 'up' }, {}] });
  expect(ann.said).toContain('10.0.0.2:80 is left out: paused by eve@box: disk.');
  expect(ranAt(ann)).toEqual(['10.0.0.3:80', '10.0.0.1:80', '10.0.0.4:80']);
});

it('never two operators at once: the second is refused and told who; a lock whose holder died is waited for', async () => {
  const fleet = await Fleet.of(4);
  const [ann, bob] = [new Operator(fleet, 'ann'), new Operator(fleet, 'bob')];
  ann.command = (address) => ann.restart(address, 10_000);
  void ann.roll(command);
  await fleet.clock.advance(3000);
  const startedAt = fleet.clock.monotonic();
  await expect(fleet.during(bob.roll(command))).rejects.toMatchObject({
    code: 'GUARD_REFUSED',
    message: expect.stringMatching(/user\.rpc is being rolled by ann@box \(process 1 on ann, since 20.*deploy/),
  });
  expect(fleet.clock.monotonic() - startedAt).toBeLessThan(3000);
  expect(bob.commands).toEqual([]);
  ann.kill();
  await fleet.clock.advance(200);
  expect(await fleet.during(bob.roll(command))).toMatchObject({ outcome: 'done' });
  expect(ranAt(bob)).toHaveLength(4);
});

it('Ctrl-C: what runs is told of, nothing new is begun, and the same command goes on', async () => {
  const fleet = await Fleet.of(4);
  const ann = new Operator(fleet, 'ann');
  ann.command = async (address, signal) => {
    if (address !== all[1]) return ann.restart(address);
    await sleep(fleet.clock, 600_000, signal);
    return 130;
  };
  const rolling = ann.roll(command);
  await fleet.clock.advance(10_000);
  ann.interrupt();
  expect(await fleet.during(rolling, 5000)).toMatchObject({
    outcome: 'interrupted',
    error: null,
    instances: [{ state: 'up' }, { state: 'paused' }, { condition: 'not begun' }, { condition: 'not begun' }],
  });
  expect(fleet.store.keys(lockKey)).toEqual([]);
  expect(fleet.store.keys(stateKey)).toEqual([stateKey]);
  expect(await fleet.during(new Operator(fleet, 'bob').roll(command))).toMatchObject({ outcome: 'done' });
});

it('an instance that is gone when its turn comes is left out with a word', async () => {
  const fleet = await Fleet.of(4);
  const ann = new Operator(fleet, 'ann');
  ann.command = async (address) => {
    if (address === all[0]) await fleet.stopServer('10.0.0.3:80');
    return ann.restart(address);
  };
  expect(await fleet.during(ann.roll(command))).toMatchObject({ outcome: 'done' });
  expect(ann.said).toContain('10.0.0.3:80 is left out: it is not registered any more.');
});

it('a short outage is waited out; a lock that was lost to it stops the roll (LEASE_LOST)', async () => {
  const fleet = await Fleet.of(4);
  const ann = new Operator(fleet, 'ann');
  ann.command = (address) => ann.restart(address, 4000);
  const rolling = ann.roll(command, { waitMs: 120_000 });
  // In the middle of a command, and right when the next one is due.
  await fleet.clock.advance(2000);
  fleet.store.set('down');
  await fleet.clock.advance(1500);
  fleet.store.set('none');
  while (fleet.store.keys('lbctl/v1/pause/')[0] !== undefined) await fleet.clock.advance(10);
  fleet.store.set('down');
  await fleet.clock.advance(3000);
  fleet.store.set('none');
  expect(await fleet.during(rolling)).toMatchObject({ outcome: 'done' });

  const bob = new Operator(fleet, 'bob');
  bob.command = (address) => bob.restart(address, 20_000);
  const lost = bob.roll(command);
  await fleet.clock.advance(3000);
  fleet.store.revoke(fleet.store.get(lockKey)?.lease ?? 0n);
  fleet.store.put(lockKey, JSON.stringify({ by: 'eve@box', host: 'eve', pid: 3 }));
  expect(await fleet.during(lost)).toMatchObject({ outcome: 'failed', error: { code: 'LEASE_LOST' } });
  expect(fleet.store.get(lockKey)?.value.toString()).toContain('eve@box');
});

it('--dry-run shows each with its command and what the guard has, and writes nothing', async () => {
  const fleet = await Fleet.of(4);
  const before = fleet.store.revision;
  const planned = await fleet.during(new Operator(fleet, 'ann').roll(command, { dryRun: true }));
  expect(planned).toMatchObject({ outcome: 'planned', guard: { up: 4, left: 3, needed: 1 } });
  expect(planned.instances.map(({ address }) => address)).toEqual(all);
  expect(planned.instances[1]?.condition).toContain('run deploy 10.0.0.2 --port=80 10.0.0.2:80;');
  expect(fleet.store.revision).toBe(before);
});

it('kill -9 at any moments, and the same command line again: each was restarted, all are up, nothing is left', async () => {
  const lives = fc.array(
    fc.record({ livesMs: fc.integer({ min: 0, max: 6000 }), restMs: fc.integer({ min: 0, max: 7000 }) }),
    {
      maxLength: 4,
    },
  );
  await fc.assert(
    fc.asyncProperty(lives, fc.integer({ min: 1, max: 3 }), async (killed, maxUnavailable) => {
      const fleet = await Fleet.of(3);
      const pids = new Map([...fleet.servers].map(([address, server]) => [address, server]));
      for (const [index, { livesMs, restMs }] of killed.entries()) {
        const operator = new Operator(fleet, `op${index}`);
        void operator.roll(command, { maxUnavailable }).catch(() => {});
        await fleet.clock.advance(livesMs);
        operator.kill();
        await fleet.clock.advance(restMs);
      }
      // What runs again after all that is one more operator, who is not killed.
      const last = new Operator(fleet, 'last');
      const result = await fleet.during(last.roll(command, { maxUnavailable }));
      expect(result).toMatchObject({ outcome: 'done', error: null });
      expect(fleet.addresses()).toEqual(all.slice(0, 3));
      for (const [address, before] of pids) expect(fleet.servers.get(address)).not.toBe(before);
      await fleet.clock.advance(6000);
      for (const kind of ['pause', 'roll', 'drain']) expect(fleet.store.keys(`lbctl/v1/${kind}/`)).toEqual([]);
    }),
    { numRuns: 20 },
  );
}, 60_000);
