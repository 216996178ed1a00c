import { experimental } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { policyNames } from '../../../src/core/balancer/policies.js';
import { clientOptions } from '../../../src/core/grpc/client/client-options.js';
import { type ServiceConfigSettings, serviceConfig } from '../../../src/core/grpc/client/service-config.js';
import { registerPolicies } from '../../../src/core/grpc/policies/register.js';

function built(settings: ServiceConfigSettings) {
  const config = JSON.parse(serviceConfig(settings));
  return { ...config, policy: Object.keys(config.loadBalancingConfig[0])[0] };
}

const refusal = (settings: ServiceConfigSettings): string => {
  try {
    serviceConfig(settings);
  } catch (error) {
    return JSON.stringify(error, ['code', 'message', 'suggestions']) + String(error);
  }
  throw new Error('it was accepted');
};

describe('the policy', () => {
  it('is known to grpc-js under its own name, or lbctl_ where grpc-js has one of that name', () => {
    for (const policy of policyNames) {
      const { loadBalancingConfig } = built({ policy });
      const name = Object.keys(loadBalancingConfig[0])[0];
      expect(name === policy || name === `lbctl_${policy}`).toBe(true);
      expect(experimental.selectLbConfigFromList(loadBalancingConfig)?.getLoadBalancerName()).toBe(name);
    }
    expect(built({ policy: 'round_robin' }).policy).toBe('lbctl_round_robin');
    expect(built({ policy: 'weighted_round_robin' }).policy).toBe('smooth_weighted_round_robin');
  });

  it('never takes the place of one of grpc-js', () => {
    registerPolicies();
    registerPolicies();
    for (const name of ['round_robin', 'pick_first', 'weighted_round_robin']) {
      const config = experimental.parseLoadBalancingConfig({ [name]: {} });
      expect(config.constructor.name).toMatch(/^(RoundRobin|PickFirst|WeightedRoundRobin)LoadBalancingConfig$/);
    }
  });

  it('that there is not, is refused with the names that there are', () => {
    expect(refusal({ policy: 'round_robbin' })).toMatch(/USAGE.*round_robbin.*consistent_hash/s);
    expect(refusal({ serviceConfig: { loadBalancingConfig: [{ ring_hash: {} }] } })).toContain('ring_hash');
    expect(() => clientOptions({ policy: 'nope' })).toThrow('nope');
  });

  it('may come in a service config, also in the form that Go programs use', () => {
    expect(built({ serviceConfig: '{"loadBalancingPolicy":"random"}' }).policy).toBe('random');
    expect(built({ serviceConfig: { loadBalancingConfig: [{ round_robin: {} }] } }).policy).toBe('lbctl_round_robin');
  });

  it.each<[string, ServiceConfigSettings, string]>([
    ['none', {}, 'no policy is given'],
    ['two', { policy: 'random', serviceConfig: { loadBalancingPolicy: 'hash' } }, 'more than once'],
    ['no name', { serviceConfig: { loadBalancingPolicy: 5 } }, 'not a name'],
    ['a list of two', { serviceConfig: { loadBalancingConfig: [{ random: {} }, { hash: {} }] } }, 'a list of one'],
    ['no JSON', { policy: 'random', serviceConfig: '{' }, 'no JSON'],
    ['a list for JSON', { policy: 'random', serviceConfig: '[]' }, 'not a JSON object'],
    ['headers that are no text', { policy: 'hash', hashKeyHeaders: ['key-bin'] }, 'headers'],
    ['no headers', { policy: 'hash', hashKeyHeaders: [] }, 'headers'],
    ['method settings that are no list', { policy: 'hash', serviceConfig: { methodConfig: {} } }, 'not a list'],
    [
      'a retry policy that grpc-js refuses',
      { policy: 'hash', serviceConfig: { methodConfig: [{ name: [{}], retryPolicy: { maxAttempts: 1 } }] } },
      'maxAttempts',
    ],
  ])('%s is refused', (_, settings, reason) => {
    expect(refusal(settings)).toMatch(/USAGE/);
    expect(refusal(settings)).toContain(reason);
  });

  it('carries its options and where the hash key is', () => {
    const policy = { policy: 'consistent_hash', ring: 'crc32' };
    const { loadBalancingConfig } = built({ policy, hashKeyHeaders: ['X-Tenant'], stripHashKey: true });
    expect(loadBalancingConfig).toEqual([
      { consistent_hash: { ring: 'crc32', hashKeyHeaders: ['x-tenant'], stripHashKey: true } },
    ]);
  });
});

describe('retries', () => {
  const retry = { methods: ['a.B/Get', 'c.D'] };
  const retryPolicy = {
    maxAttempts: 4,
    initialBackoff: '0.100000s',
    maxBackoff: '1.000000s',
    backoffMultiplier: 2,
    retryableStatusCodes: ['UNAVAILABLE', 'RESOURCE_EXHAUSTED'],
  };

  it('are declared for methods and services', () => {
    expect(built({ policy: 'random', retry }).methodConfig).toEqual([
      { name: [{ service: 'a.B', method: 'Get' }], retryPolicy },
      { name: [{ service: 'c.D' }], retryPolicy },
    ]);
  });

  it('keep what the service config says of those methods', () => {
    const methodConfig = [
      { name: [{}], timeout: '9s' },
      { name: [{ service: 'a.B' }, { service: 'c.D', method: 'Put' }], timeout: '1s' },
    ];
    expect(built({ policy: 'random', retry, serviceConfig: { methodConfig } }).methodConfig).toEqual([
      { name: [{}], timeout: '9s' },
      { name: [{ service: 'a.B' }], timeout: '1s' },
      { name: [{ service: 'c.D', method: 'Put' }], timeout: '1s', retryPolicy },
      { name: [{ service: 'a.B', method: 'Get' }], timeout: '1s', retryPolicy },
      { name: [{ service: 'c.D' }], timeout: '9s', retryPolicy },
    ]);
  });

  it.each([
    [{ methods: [] }, 'methods is empty'],
    [{ methods: ['a/b/c'] }, 'a/b/c'],
    [{ ...retry, maxAttempts: 6 }, '2 to 5'],
    [{ ...retry, maxAttempts: 1 }, '2 to 5'],
    [{ ...retry, initialBackoffMs: 0 }, 'initialBackoffMs'],
    [{ ...retry, maxBackoffMs: Number.NaN }, 'maxBackoffMs'],
    [{ ...retry, multiplier: 0 }, 'multiplier'],
    [{ ...retry, codes: [] }, 'codes'],
    [{ ...retry, codes: ['OK'] }, 'OK'],
    [{ ...retry, codes: ['toString'] }, 'toString'],
  ])('%j are refused', (bad, reason) => {
    expect(refusal({ policy: 'random', retry: bad })).toContain(reason);
  });

  it('are not declared twice', () => {
    const own = { methodConfig: [{ name: [{ service: 'c.D' }], retryPolicy }] };
    expect(refusal({ policy: 'random', retry, serviceConfig: own })).toContain('c.D');
  });
});
