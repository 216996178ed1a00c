import { murmur3 } from '../hashing/murmur3.js';
import { rendezvousScore } from '../hashing/rendezvous.js';
import type { Rng } from '../model/clock.js';
import { type Candidate, sorted } from './balancer.js';

/** As many as go-zero keeps. */
const defaultSize = 32;

/**
 * The instances that one client keeps connections to, out of many: the `size` with the highest rendezvous score for the
 * client. Each client has a subset of its own, all instances are covered alike, and a change of one instance changes at most
 * one entry. Not for policies with keys: clients that hash over different subsets disagree on the owners.
 */
export function rendezvousSubset<I extends Candidate>(
  instances: readonly I[],
  clientId: string,
  size = defaultSize,
): I[] {
  const client = murmur3(clientId);
  return sorted(instances)
    .map((instance) => ({ instance, score: rendezvousScore(murmur3(instance.address), client) }))
    .sort((a, b) => b.score - a.score)
    .slice(0, size)
    .map(({ instance }) => instance);
}

/**
 * A random subset, drawn anew each time: what go-zero's clients do at every change above 32 instances.
 * Source: go-zero v1.10.3, zrpc/resolver/internal/subset.go
 */
export function shuffleSubset<I extends Candidate>(instances: readonly I[], rng: Rng, size = defaultSize): I[] {
  const shuffled = [...instances];
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(rng() * (last + 1));
    const [a, b] = [shuffled[last], shuffled[other]];
    if (a !== undefined && b !== undefined) [shuffled[last], shuffled[other]] = [b, a];
  }
  return shuffled.slice(0, size);
}
