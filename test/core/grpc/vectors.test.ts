import { readFileSync } from 'node:fs';
import { connectivityState, experimental, Metadata } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { ManagedBalancer } from '../../../src/core/grpc/policies/managed-balancer.js';
import { BalancerPicker, type Connection } from '../../../src/core/grpc/policies/picker.js';
import { PolicyConfig } from '../../../src/core/grpc/policies/policy-config.js';

interface Case {
  readonly name: string;
  readonly nodes: readonly string[];
  readonly weights?: readonly number[];
  readonly picks: ReadonlyArray<{ readonly Key: string; readonly Node: string }>;
}

const vectors = JSON.parse(readFileSync(new URL('../../fixtures/hash.json', import.meta.url), 'utf8')) as Record<
  'gozero_ring' | 'crc32_ring',
  readonly Case[]
>;
const cases = (['gozero_ring', 'crc32_ring'] as const).flatMap((ring) =>
  vectors[ring].map((one) => [`${ring} ${one.name}`, ring === 'gozero_ring' ? 'gozero' : 'crc32', one] as const),
);

/** A connection that is there, and that tells which one was taken. */
function ready(address: string, taken: (address: string) => void): Connection {
  const subchannel = {} as experimental.SubchannelInterface;
  const pick = (): experimental.PickResult => {
    taken(address);
    return {
      pickResultType: experimental.PickResultType.COMPLETE,
      subchannel,
      status: null,
      onCallStarted: null,
      onCallEnded: null,
    };
  };
  return { address, state: connectivityState.READY, picker: { pick } };
}

it.each(cases)('the picker that grpc-js asks finds the owners of %s', (_, ring, { nodes, weights, picks }) => {
  const config = new PolicyConfig('consistent_hash', {
    policy: 'consistent_hash',
    ring,
    weightedRing: weights !== undefined,
    hashKeyHeaders: ['x-user-id'],
  });
  const balancer = new ManagedBalancer(config.createBalancer());
  balancer.update(nodes.map((address, i) => ({ address, ...(weights && { weight: weights[i] ?? 1 }) })));
  let owner = '';
  const taken = (address: string) => {
    owner = address;
  };
  const picker = new BalancerPicker(
    balancer,
    config,
    new Map(nodes.map((address) => [address, ready(address, taken)])),
  );
  let asked = 0;
  for (const { Key, Node } of picks) {
    const metadata = new Metadata();
    try {
      metadata.set('x-user-id', Key);
    } catch {
      // Metadata carries ASCII only: such a key cannot be sent, here or by go-zero.
      continue;
    }
    // An empty header is no key.
    if (Key === '') continue;
    expect(picker.pick({ metadata, extraPickInfo: {} }).pickResultType).toBe(experimental.PickResultType.COMPLETE);
    expect(owner, Key).toBe(Node);
    asked++;
  }
  expect(asked).toBeGreaterThan(picks.length * 0.5);
});
