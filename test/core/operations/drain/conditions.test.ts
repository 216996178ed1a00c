import { describe, expect, it } from 'vitest';
import type { Instance } from '../../../../src/core/model/instance.js';
import {
  type DrainFacts,
  type DrainWants,
  drainConditions,
  returnConditions,
} from '../../../../src/core/operations/drain/conditions.js';
import type { ObserverView } from '../../../../src/core/stats/observers.js';

const pause = {
  by: 'ann@box',
  at: '',
  reason: '',
  strategy: 'managed' as const,
  verb: 'drain' as const,
  until: null,
  cameBack: false,
};
const base: Instance = {
  address: '10.0.0.1:80',
  id: '1',
  key: 'user.rpc/1',
  service: 'user.rpc',
  dialect: 'gozero',
  admin: 'paused',
  health: 'unknown',
  weight: 1,
  zone: '',
  version: '',
  metadata: {},
  lease: null,
  createRevision: 1n,
  modRevision: 1n,
  owner: { host: 'box', pid: 7, version: '0' },
  since: null,
  pause,
  notes: [],
};
const wants: DrainWants = { address: base.address, revision: 100n, untilIdle: false, graceMs: 0 };
const facts: DrainFacts = { instances: [base], observers: [], connections: null, outForMs: 0 };

function observer(host: string, pid: number, revision: bigint, calls = 0): ObserverView {
  const inFlight = new Map([
    [base.address, calls],
    ['10.9.9.9:80', 7],
  ]);
  return { id: `${host}-${pid}`, host, pid, client: '', policy: '', revision, inFlight, statistics: '' };
}

function of(moreWants: Partial<DrainWants>, moreFacts: Partial<DrainFacts>) {
  return drainConditions({ ...wants, ...moreWants }, { ...facts, ...moreFacts })
    .filter(({ condition }) => condition !== 'observers' || moreFacts.observers !== undefined)
    .map(({ condition, met, detail }) => `${condition} ${met ? 'met' : 'waiting'}: ${detail}`);
}

describe('the conditions of a drain', () => {
  it.each<[string, Partial<DrainWants>, Partial<DrainFacts>, string[]]>([
    ['out', {}, {}, ['out met: out of rotation']],
    [
      'not out while one key of the address is up',
      {},
      { instances: [base, { ...base, key: 'user.rpc/2', admin: 'up' }] },
      ['out waiting: in rotation as user.rpc/2'],
    ],
    [
      'no observers prove nothing',
      {},
      { observers: [] },
      [
        'out met: out of rotation',
        'observers met: no observers publish: this proves nothing, use --grace or --until-idle',
      ],
    ],
    [
      'no observers, and something else that proves',
      { graceMs: 1000 },
      { observers: [], outForMs: 1000 },
      ['out met: out of rotation', 'observers met: no observers publish', 'grace met: 1s out of rotation'],
    ],
    [
      'observers that may not be read',
      {},
      { observers: 'denied' },
      [
        'out met: out of rotation',
        'observers met: this etcd user may not read who observes: this proves nothing, use --grace or --until-idle',
      ],
    ],
    [
      'observers: behind, busy, and at the very revision',
      {},
      {
        observers: [observer('a', 1, 100n), observer('b', 2, 99n), observer('web-1', 4711, 101n, 3)],
      },
      [
        'out met: out of rotation',
        'observers waiting: 1 of 3 observers, b/2 has not applied it, 3 calls in flight at web-1/4711',
      ],
    ],
    [
      'all observers',
      {},
      { observers: [observer('a', 1, 100n)] },
      ['out met: out of rotation', 'observers met: 1 of 1 observers'],
    ],
    [
      'busy connections',
      { untilIdle: true },
      { connections: 2 },
      ['out met: out of rotation', 'idle waiting: 2 established connections'],
    ],
    [
      'idle',
      { untilIdle: true },
      { connections: 0 },
      ['out met: out of rotation', 'idle met: no established connection'],
    ],
    [
      'grace goes by the time out of rotation',
      { graceMs: 5000 },
      { outForMs: 4999 },
      ['out met: out of rotation', 'grace waiting: 5s out of rotation'],
    ],
    [
      'grace when it came back',
      { graceMs: 5000 },
      { outForMs: null },
      ['out met: out of rotation', 'grace waiting: 5s out of rotation'],
    ],
  ])('%s', (_name, moreWants, moreFacts, expected) => {
    expect(of(moreWants, moreFacts)).toEqual(expected);
  });

  it('a thousand observers do not fill the line', () => {
    const observers = Array.from({ length: 1000 }, (_, index) => observer('h', index, 1n));
    const [, line = ''] = of({}, { observers });
    expect(line).toContain('and 997 more');
    expect(line.length).toBeLessThan(200);
  });
});

describe('being back', () => {
  const words = (instances: readonly Instance[], health: { healthy: boolean; detail: string } | null) =>
    returnConditions(instances, health).map(({ condition, met, detail }) => [condition, met, detail]);

  it('an owner that is gone is not back; one that lives is, under whatever key', () => {
    expect(words([{ ...base, owner: null, notes: ['OWNER-GONE'] }], null)).toEqual([
      ['back', false, 'nobody registers the address'],
      ['healthy', false, 'not asked yet'],
    ]);
    expect(words([base], { healthy: true, detail: 'accepts connections' })).toEqual([
      ['back', true, 'box, process 7'],
      ['healthy', true, 'accepts connections'],
    ]);
    expect(words([{ ...base, owner: null }], { healthy: false, detail: 'refused' })).toEqual([
      ['back', true, 'user.rpc/1'],
      ['healthy', false, 'refused'],
    ]);
    expect(words([], null)[0]).toEqual(['back', false, 'nobody registers the address']);
  });
});
