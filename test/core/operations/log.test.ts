import { expect, it } from 'vitest';
import { appendLog, keptEntries, readLog } from '../../../src/core/operations/log.js';
import { foreignFleet, inTime } from './foreign.js';

const entry = {
  at: '2026-01-01T00:00:00.000Z',
  by: 'ann@box',
  verb: 'drain',
  what: 'x',
  strategy: '',
  addresses: ['a'],
};

it('tells who did what to which instances, when and why, in the order in which it was done', async () => {
  const { pause, resume, clock, etcd } = foreignFleet();
  await inTime(clock, pause(['1', '2'], { strategy: 'mask', reason: 'deploy 42' }));
  await appendLog(etcd, 's', { ...entry, what: 'its command ended with 3', reason: 'deploy 42' });
  await inTime(clock, resume(['1'], { by: 'bob@box' }));
  const { entries } = await readLog(etcd, 's');
  expect(entries).toMatchObject([
    { number: 1, by: 'ann@box', verb: 'pause', what: 'paused', strategy: 'mask', reason: 'deploy 42' },
    { number: 2, verb: 'drain', what: 'its command ended with 3', addresses: ['a'] },
    { number: 3, by: 'bob@box', verb: 'resume', what: 'resumed', addresses: ['10.0.0.1:80'] },
  ]);
  expect(entries[0]?.addresses).toEqual(['10.0.0.1:80', '10.0.0.2:80']);
  expect(entries[0]?.at).toBe(new Date(1_700_000_000_000).toISOString());
});

it('keeps the latest and no more, whatever is written', async () => {
  const { store, etcd } = foreignFleet();
  for (let i = 1; i <= keptEntries + 7; i++) await appendLog(etcd, 's', { ...entry, reason: String(i) });
  expect(store.keys('lbctl/v1/log/s/')).toHaveLength(keptEntries);
  const { entries } = await readLog(etcd, 's');
  expect(entries[0]).toMatchObject({ number: 8, reason: '8' });
  expect(entries.at(-1)).toMatchObject({ number: keptEntries + 7 });
});

it('loses no entry and takes no number twice when many write at once', async () => {
  const { store } = foreignFleet();
  const writers = Array.from({ length: 4 }, (_, i) => appendLog(store.client(), 's', { ...entry, reason: String(i) }));
  await Promise.all(writers);
  const { entries } = await readLog(store.client(), 's');
  expect(entries.map(({ reason }) => reason).sort()).toEqual(['0', '1', '2', '3']);
  expect(entries.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
});

it('is not part of another service, and not of what instances there are', async () => {
  const { etcd, store } = foreignFleet();
  await appendLog(etcd, 's', { ...entry, reason: '' });
  expect((await readLog(etcd, 's/x')).entries).toEqual([]);
  store.put('lbctl/v1/log/s/000000000099', 'no entry');
  expect((await readLog(etcd, 's')).entries).toHaveLength(1);
  await expect(readLog(etcd, '')).rejects.toMatchObject({ code: 'USAGE' });
});
