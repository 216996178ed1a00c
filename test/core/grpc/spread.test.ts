import { describe, expect, it } from 'vitest';
import { seededRng } from '../../support/random.js';
import { until } from '../../support/until.js';
import { connect, inFlight, picks, servers } from './harness.js';

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

describe('calls that are made at once', () => {
  it.each([
    ['round_robin', 4],
    ['least_active', 4],
    ['p2c_ewma', 2],
  ])('100 in one tick are spread evenly by %s', async (policy, n) => {
    const { client, state } = connect(await servers(...Array(n)), { policy });
    const answers = client.calls(100);
    await until(() => sum(inFlight(state)) === 100, 2000, 'all calls in flight');
    expect(Math.max(...picks(state)) - Math.min(...picks(state))).toBeLessThanOrEqual(1);
    expect((await answers).every(({ code }) => code === 0)).toBe(true);
    expect(sum(inFlight(state))).toBe(0);
  });

  it('of the first 600 of a new channel, 500 go to weight 5 and 100 to weight 1', async () => {
    const [a, b] = await servers(undefined, undefined);
    const instances = [
      { address: a?.address ?? '', weight: 5 },
      { address: b?.address ?? '', weight: 1 },
    ];
    const { client, state, attempts } = connect(instances, { policy: 'weighted_round_robin' });
    await client.calls(600);
    expect(picks(state)).toEqual([500, 100]);
    expect(attempts.filter(({ address }) => address === a?.address)).toHaveLength(500);
  });
});

describe('calls in flight', () => {
  it('are none after 10,000 calls, a third of them cancelled at any moment', async () => {
    const { client, state } = connect(await servers(...Array(3)), { policy: 'least_active' });
    await client.calls(1);
    const rng = seededRng(7);
    const cancelLater = async (cancel: () => void): Promise<void> => {
      // The pick is a few microtasks after the call, and the stream one or two after the pick: all in one tick.
      for (let turns = Math.floor(rng() * 20); turns > 0; turns--) await null;
      cancel();
    };
    for (let round = 0; round < 20; round++) {
      const answers = Array.from({ length: 500 }, () => {
        const answer = client.call();
        const cancel = (): void => answer.call.cancel();
        const dice = rng();
        if (dice < 0.05) cancel();
        else if (dice < 0.2) void cancelLater(cancel);
        else if (dice < 0.27) setImmediate(cancel);
        else if (dice < 0.333) setTimeout(cancel, rng() * 10);
        return answer;
      });
      await Promise.all(answers);
    }
    expect(sum(picks(state))).toBeGreaterThan(9000);
    await until(() => sum(inFlight(state)) === 0, 5000, 'nothing in flight');

    // The policy's own counts are even too: it would fill up the instances that it believes to be idle.
    const before = picks(state);
    const burst = client.calls(99);
    await until(() => sum(inFlight(state)) === 99, 1000, 'the burst');
    expect(picks(state).map((n, i) => n - (before[i] ?? 0))).toEqual([33, 33, 33]);
    await burst;
  }, 60_000);
});
