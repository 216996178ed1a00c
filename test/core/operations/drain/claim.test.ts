import { expect, it } from 'vitest';
import { isClaim, readClaim, takeClaim } from '../../../../src/core/operations/drain/claim.js';
import { ManualClock } from '../../../support/manual-clock.js';
import { MemoryStore } from '../../../support/memory-etcd.js';

const key = 'lbctl/v1/drain/s/a';

function world() {
  const clock = new ManualClock();
  const store = new MemoryStore(clock);
  const ports = { clock, rng: () => 0.5, defer: (fn: () => void) => void setImmediate(fn) };
  const take = (pid: number) => {
    const holder = { by: 'ann@box', host: 'box', pid, startedAt: 'now', command: ['x'], state: 'running' } as const;
    return takeClaim(store.client(), key, holder, ports, {});
  };
  return { clock, store, take };
}

it('is not lost to ourselves when etcd answers again and still holds what our lease wrote', async () => {
  const { clock, store, take } = world();
  const claim = await take(1);
  if (!isClaim(claim)) throw new Error('not taken');
  // An etcd that was away gives every lease its full time anew.
  store.set('hung');
  await clock.advance(8000);
  store.set('none');
  await clock.advance(3000);
  expect(claim.lost.aborted).toBe(false);
  expect((await readClaim(store.client(), key, {}))?.holder.pid).toBe(1);
  await clock.advance(20_000);
  expect((await readClaim(store.client(), key, {}))?.holder.pid).toBe(1);
  await claim.release();
  expect(store.keys(key)).toEqual([]);
});

it('is lost to somebody who took it while etcd was away from us', async () => {
  const { clock, store, take } = world();
  const claim = await take(1);
  if (!isClaim(claim)) throw new Error('not taken');
  const [lease] = store.leases.keys();
  store.revoke(lease ?? 0n);
  expect(isClaim(await take(2))).toBe(true);
  await clock.advance(10_000);
  expect(claim.lost.reason).toMatchObject({ code: 'LEASE_LOST' });
});
