import { connectivityState, Metadata, status } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import type { Candidate } from '../../../src/core/balancer/balancer.js';
import { policyNames } from '../../../src/core/balancer/policies.js';
import { type ClientSettings, clientOptions } from '../../../src/core/grpc/client/client-options.js';
import { ClientState } from '../../../src/core/grpc/policies/client-state.js';
import { EchoClient } from '../../support/grpc-client.js';
import { type EchoServer, startEchoServer } from '../../support/grpc-server.js';
import { ManualList } from '../../support/manual-resolver.js';
import { seededRng } from '../../support/random.js';
import { until } from '../../support/until.js';

const cleanUps: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

async function servers(n: number): Promise<EchoServer[]> {
  const started = await Promise.all(Array.from({ length: n }, () => startEchoServer()));
  cleanUps.push(...started.map((server) => () => server.stop()));
  return started;
}

interface Setup {
  readonly client: EchoClient;
  readonly list: ManualList;
  readonly state: ClientState;
  /** The addresses of the attempts that ended, oldest first. */
  readonly attempts: string[];
}

function connect(instances: readonly Candidate[], settings: ClientSettings, more: object = {}): Setup {
  const attempts: string[] = [];
  const state = new ClientState({ onAttempt: ({ address }) => attempts.push(address) });
  const list = new ManualList(instances);
  const client = new EchoClient(list.target, { ...clientOptions({ ...settings, state }), ...more });
  cleanUps.push(() => client.close());
  return { client, list, state, attempts };
}

const inFlight = (state: ClientState): number[] => state.inspect().map((row) => row.inFlight);
const picks = (state: ClientState): number[] => state.inspect().map((row) => row.picks);
const noCalls = (state: ClientState): boolean => inFlight(state).every((n) => n === 0);

function withKey(key: string): Metadata {
  const metadata = new Metadata();
  metadata.set('x-lb-hash-key', key);
  return metadata;
}

describe('a burst', () => {
  it.each([
    ['round_robin', 4],
    ['least_active', 4],
    ['p2c_ewma', 2],
  ])('100 calls in one tick are spread evenly under %s', async (policy, n) => {
    const { client, state } = connect(await servers(n), { policy });
    await client.calls(1);
    const before = picks(state);
    const answers = client.calls(100);
    await until(() => inFlight(state).reduce((sum, count) => sum + count) === 100, 1000, 'all calls in flight');
    const spread = picks(state).map((count, i) => count - (before[i] ?? 0));
    expect(Math.max(...spread) - Math.min(...spread)).toBeLessThanOrEqual(1);
    expect((await answers).every(({ code }) => code === 0)).toBe(true);
    expect(noCalls(state)).toBe(true);
  });

  it('of the first 600 calls of a channel, made at once, 500 go to weight 5 and 100 to weight 1', async () => {
    const [a, b] = await servers(2);
    if (a === undefined || b === undefined) throw new Error('no servers');
    const weighted = [
      { address: a.address, weight: 5 },
      { address: b.address, weight: 1 },
    ];
    const { client, state, attempts } = connect(weighted, { policy: 'weighted_round_robin' });
    await client.calls(600);
    expect(picks(state)).toEqual([500, 100]);
    expect(attempts.filter((address) => address === a.address)).toHaveLength(500);
  });
});

describe('calls in flight', () => {
  it('are exactly none after 10,000 calls, a third of them cancelled, also in the tick of their start', async () => {
    const { client, state } = connect(await servers(3), { policy: 'least_active' });
    await client.calls(1);
    const rng = seededRng(7);
    let neverSent = 0;
    for (let round = 0; round < 20; round++) {
      const answers = Array.from({ length: 500 }, () => {
        const answer = client.call();
        const dice = rng();
        if (dice < 0.1) {
          answer.call.cancel();
          neverSent++;
        } else if (dice < 0.2) queueMicrotask(() => answer.call.cancel());
        else if (dice < 0.27) setImmediate(() => answer.call.cancel());
        else if (dice < 0.333) setTimeout(() => answer.call.cancel(), rng() * 10);
        return answer;
      });
      await Promise.all(answers);
    }
    expect(neverSent).toBeGreaterThan(500);
    await until(() => noCalls(state), 5000, 'nothing in flight');
    // The policy's own count too, not only that of the client.
    const burst = client.calls(99);
    const before = picks(state);
    await until(() => inFlight(state).every((n) => n === 33), 1000, 'an even spread');
    await burst;
    expect(picks(state).map((n, i) => n - (before[i] ?? 0))).toEqual([33, 33, 33]);
  });

  it('a call whose credentials take longer than the reservation counts while it runs, and not before', async () => {
    const slow = await startEchoServer((call, callback) => setTimeout(() => callback(null, call.request), 500));
    cleanUps.push(() => slow.stop());
    const { client, state } = connect([slow], { policy: 'round_robin' });
    await client.calls(1);
    expect(noCalls(state)).toBe(true);
  });
});

describe('the list', () => {
  it('empty: calls fail at once, and succeed from the first instance on', async () => {
    const [server] = await servers(1);
    const { client, list } = connect([], { policy: 'round_robin' });
    const startedAt = performance.now();
    const refused = await client.call();
    expect(refused).toMatchObject({ code: status.UNAVAILABLE, details: expect.stringContaining('empty') });
    expect(performance.now() - startedAt).toBeLessThan(1000);
    list.push(server === undefined ? [] : [server]);
    await until(async () => (await client.call()).code === 0, 3000, 'a call that succeeds');
  });
});

describe('names', () => {
  it('every policy of the core can be asked for', () => {
    for (const policy of policyNames) expect(clientOptions({ policy })['grpc.service_config']).toContain(policy);
  });
  it('state', () => {
    expect(connectivityState.READY).toBe(2);
    expect(withKey('a').get('x-lb-hash-key')).toEqual(['a']);
  });
});
