import { Ring } from '../hashing/ring.js';

const keys = 10_000;

/**
 * The part of all keys that consistent_hash sends to each address, by 10,000 keys: within a percentage point. As go-zero's
 * own clients do it, without weights.
 */
export function ringShares(addresses: readonly string[]): ReadonlyMap<string, number> {
  const ring = new Ring(
    addresses.map((address) => ({ address })),
    'gozero',
  );
  const counts = new Map(addresses.map((address) => [address, 0]));
  for (let key = 0; key < keys; key++) {
    const owner = ring.owner(`key:${key}`);
    if (owner !== null) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  }
  return new Map([...counts].map(([address, count]) => [address, count / keys]));
}
