import { describe, expect, it } from 'vitest';
import { createConfigured, parseBalancerConfig } from '../../../src/core/balancer/config.js';
import { LbctlError } from '../../../src/core/model/errors.js';

describe('a balancer by configuration', () => {
  it('is a name, or a policy with settings', () => {
    expect(parseBalancerConfig('consistent_hash')).toEqual({ policy: 'consistent_hash' });
    expect(parseBalancerConfig('weighted_round_robin')).toEqual({ policy: 'smooth_weighted_round_robin' });
    const config = { policy: 'maglev', tableSize: 2039, health: { failures: 5 }, zone: 'eu-1' };
    expect(parseBalancerConfig(config)).toEqual(config);
  });

  it('changes the algorithm and no code', () => {
    const owner = (config: unknown) => {
      const balancer = createConfigured(parseBalancerConfig(config));
      balancer.update(['a:1', 'b:1', 'c:1'].map((address) => ({ address })));
      return Array.from({ length: 20 }, (_, i) => balancer.pick({ key: `k${i}` }).instance.address).join();
    };
    expect(owner('round_robin')).not.toBe(owner('consistent_hash'));
    expect(owner({ policy: 'consistent_hash', ring: 'crc32' })).not.toBe(owner('consistent_hash'));
  });

  it.each([
    [undefined, 'names no policy'],
    [{}, 'names no policy'],
    [['round_robin'], 'names no policy'],
    ['p2c', 'no policy "p2c"'],
    [{ policy: 'round_robin', color: 'red' }, 'no setting "color"'],
    [{ policy: 'round_robin', __proto__x: 1 }, 'no setting "__proto__x"'],
    [{ policy: 'round_robin', constructor: 1 }, 'no setting "constructor"'],
    [{ policy: 'round_robin', ring: 'gozero' }, 'round_robin takes no "ring"'],
    [{ policy: 'consistent_hash', ring: 'ketama' }, '"ring" is "ketama"'],
    [{ policy: 'bounded_load', loadFactor: '2' }, '"loadFactor" is "2"'],
    [{ policy: 'bounded_load', loadFactor: 0.5 }, 'must be above 1'],
    [{ policy: 'fastest_response', by: 'p50' }, '"by" is "p50"'],
    [{ policy: 'fastest_response', windowMs: -1 }, '"windowMs" is -1'],
    [{ policy: 'p2c_ewma', health: 'yes' }, '"health" is "yes"'],
    [{ policy: 'p2c_ewma', health: { failures: 1.5 } }, '"health" is'],
    [{ policy: 'p2c_ewma', health: { openS: 1 } }, '"health" is'],
    [{ policy: 'p2c_ewma', adaptiveWeights: true }, 'p2c_ewma takes no "adaptiveWeights"'],
    [{ policy: 'p2c_ewma', zone: 1 }, '"zone" is 1'],
  ])('refuses %j', (config, words) => {
    const make = () => createConfigured(parseBalancerConfig(config));
    expect(make).toThrow(LbctlError);
    expect(make).toThrow(words);
  });
});
