import { expect, test } from 'vitest';
import { plainStyle } from '../../../src/cli/output/colour.js';
import { type WatchLine, watchJson, watchText } from '../../../src/cli/watch/lines.js';
import { instance } from '../../support/instances.js';

const atMs = new Date(2026, 0, 2, 9, 5, 7, 42).getTime();
const line: WatchLine = {
  type: 'ADDED',
  revision: 9007199254740993n,
  atMs,
  service: 'user.rpc',
  address: '10.0.0.1:8080',
  instance: instance(),
  previous: null,
  cause: 'registered',
  totals: { up: 3, paused: 1 },
};

test('a line for people: time, mark, address, cause, totals', () => {
  expect(watchText(line, plainStyle)).toBe('09:05:07.042  + 10.0.0.1:8080  registered  (3 up, 1 paused)\n');
  const removed: WatchLine = { ...line, type: 'REMOVED', cause: 'expired or revoked', totals: { up: 0, paused: 0 } };
  expect(watchText(removed, plainStyle)).toBe('09:05:07.042  - 10.0.0.1:8080  expired or revoked  (0 up)\n');
  const stale: WatchLine = { ...line, type: 'STALE', instance: null, cause: 'no answer', totals: { up: 3, paused: 0 } };
  expect(watchText(stale, plainStyle)).toBe('09:05:07.042  STALE  no answer  (3 up)\n');
});

test('what has no address is named by its key, and nothing from etcd acts on the terminal', () => {
  const hostile: WatchLine = { ...line, instance: instance({ address: '', key: 'user.rpc/\x1b[2J' }), cause: 'a\nb' };
  expect(watchText(hostile, plainStyle)).toBe('09:05:07.042  + user.rpc/\\x1b[2J  a\\nb  (3 up, 1 paused)\n');
});

test('the line for programs holds the contract', () => {
  const text = watchJson(line);
  expect(text.match(/\n/g)).toHaveLength(1);
  expect(JSON.parse(text)).toEqual({
    schemaVersion: 1,
    type: 'ADDED',
    revision: '9007199254740993',
    time: new Date(atMs).toISOString(),
    service: 'user.rpc',
    address: '10.0.0.1:8080',
    cause: 'registered',
    instance: {
      address: '10.0.0.1:8080',
      id: '1',
      key: 'user.rpc/1',
      service: 'user.rpc',
      dialect: 'gozero',
      admin: 'up',
      health: 'unknown',
      weight: 1,
      zone: '',
      version: '',
      metadata: {},
      lease: { id: '7587862094053123457', hex: '694d805f50b02581', ttlSeconds: null, remainingSeconds: null },
      createRevision: '5',
      modRevision: '5',
      owner: null,
      since: null,
      pause: null,
      notes: [],
    },
  });
  expect(JSON.parse(watchJson({ ...line, type: 'LIVE', instance: null }))).toMatchObject({
    address: null,
    instance: null,
  });
});
