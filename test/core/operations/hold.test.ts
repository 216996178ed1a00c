import { describe, expect, it } from 'vitest';
import { holdOut } from '../../../src/core/operations/hold.js';
import { foreignFleet, inTime } from './foreign.js';

async function heldFleet(strategy: 'mask' | 'delete' = 'mask') {
  const fleet = foreignFleet();
  await inTime(fleet.clock, fleet.pause(['1'], { strategy, verb: 'hold', verifyMs: 0 }));
  const told: string[] = [];
  const held = await fleet.hold(['10.0.0.1:80'], {
    again: (address, how) => void told.push(`again ${address} ${how}`),
    ended: (address, error) => void told.push(`ended ${address} ${error.code}`),
    trouble: (address) => void told.push(`trouble ${address}`),
  });
  await fleet.clock.advance(200);
  return { ...fleet, told, held };
}

describe('holding what is out', () => {
  it('masks an owner again that came back under a new key, within 200 ms', async () => {
    const { store, clock, told, held, value, lease, resume } = await heldFleet();
    store.revoke(lease(1));
    store.grant(99n, 3600);
    store.put('s/99', '10.0.0.1:80', 99n);
    await clock.advance(200);
    expect(value('s/99')).toBe('lbctl-paused:10.0.0.1:80');
    expect(told).toEqual(['again 10.0.0.1:80 mask']);
    await held.close();
    await inTime(clock, resume(['10.0.0.1:80']));
    expect(value('s/99')).toBe('10.0.0.1:80');
    expect(store.get('s/99')?.lease).toBe(99n);
  });

  it('keeps the record of who paused it, and why, when it takes it out again', async () => {
    const { store, clock, lease, pause, etcd, ports } = foreignFleet();
    await inTime(clock, pause(['1'], { strategy: 'mask', by: 'bob@box', reason: 'disk', verifyMs: 0 }));
    const request = { service: 's', by: 'ann@box', verb: 'drain' } as const;
    const held = await holdOut(etcd, request, ['10.0.0.1:80'], { again: () => {}, ended: () => {} }, ports);
    store.put('s/1', '10.0.0.1:80', lease(1));
    await clock.advance(500);
    await held.close();
    expect(store.get('s/1')?.value.toString()).toBe('lbctl-paused:10.0.0.1:80');
    expect(JSON.parse(store.get('lbctl/v1/pause/s/10.0.0.1:80')?.value.toString() ?? '')).toMatchObject({
      by: 'bob@box',
      reason: 'disk',
      verb: 'pause',
    });
  });

  it('goes on through an outage in which the lease ended', async () => {
    const { store, clock, told, held, value, lease } = await heldFleet();
    store.set('down');
    await clock.advance(30_000);
    store.set('none');
    store.revoke(lease(1));
    store.grant(99n, 3600);
    store.put('s/99', '10.0.0.1:80', 99n);
    await inTime(
      clock,
      (async () => {
        while (told.length === 0) await new Promise((resolve) => setImmediate(resolve));
      })(),
    );
    expect(value('s/99')).toBe('lbctl-paused:10.0.0.1:80');
    await held.close();
  });

  it('takes it out again in an etcd that was wiped, where its record is gone as well', async () => {
    const { store, clock, told, held, value, start } = await heldFleet();
    store.wipe();
    start(1);
    await clock.advance(3000);
    expect(value('s/1')).toBe('lbctl-paused:10.0.0.1:80');
    expect(told).toEqual(['again 10.0.0.1:80 mask']);
    await held.close();
  });

  it('lets go of what an operator resumes', async () => {
    const { clock, told, held, value, resume } = await heldFleet();
    await inTime(clock, resume(['1'], { by: 'bob@box' }));
    await clock.advance(2000);
    expect(value('s/1')).toBe('10.0.0.1:80');
    expect(told).toEqual(['ended 10.0.0.1:80 WRITE_CONFLICT']);
    await held.close();
  });

  it('gives up against an owner that puts its key back each time, and says so once', async () => {
    const { store, clock, told, held, lease } = await heldFleet('delete');
    for (let round = 0; round < 10; round++) {
      store.put('s/1', '10.0.0.1:80', lease(1));
      await clock.advance(50);
    }
    expect(told.filter((line) => line.startsWith('again'))).toHaveLength(5);
    expect(told.at(-1)).toBe('ended 10.0.0.1:80 OWNER_REREGISTERED');
    await held.close();
  });
});
