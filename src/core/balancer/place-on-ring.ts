import type { Ring } from '../hashing/ring.js';
import { type KeyPlacement, noInstance } from './balancer.js';

/** Where `ring` puts the key, and who would have it next. @throws NO_INSTANCE on an empty ring. */
export function placeOnRing(ring: Ring, key: string, nextLimit: number): KeyPlacement {
  const lookup = ring.lookup(key);
  if (lookup === null) throw noInstance();
  const { address, hash, point, virtualNode } = lookup;
  const next = nextLimit > 0 ? ring.owners(key, nextLimit + 1).slice(1) : [];
  return { address, hash, point, virtualNode, next };
}
