import type { RingFlavour } from '../hashing/ring.js';
import { type Clock, type Rng, systemClock, systemRng } from '../model/clock.js';
import { LbctlError } from '../model/errors.js';
import type { Balancer, Candidate } from './balancer.js';
import { ConsistentHash } from './consistent-hash.js';
import { Hash } from './hash.js';
import { PlainWeightedRoundRobin } from './plain-weighted-round-robin.js';
import { Random } from './random.js';
import { RoundRobin } from './round-robin.js';
import { SmoothWeightedRoundRobin } from './smooth-weighted-round-robin.js';
import { WeightedHash } from './weighted-hash.js';
import { WeightedRandom } from './weighted-random.js';

export interface PolicyOptions {
  readonly rng: Rng;
  readonly clock: Clock;
  /** For `consistent_hash`; `gozero` when absent. */
  readonly ring?: RingFlavour;
  /** For `consistent_hash`: declared weights are percents of the virtual nodes (see `RingNode`). Absent: ignored. */
  readonly weightedRing?: boolean;
}

/** The name of each policy, as configuration and flags spell it, to its factory. */
const factories = {
  round_robin: <I extends Candidate>(): Balancer<I> => new RoundRobin<I>(),
  plain_weighted_round_robin: <I extends Candidate>(): Balancer<I> => new PlainWeightedRoundRobin<I>(),
  smooth_weighted_round_robin: <I extends Candidate>(): Balancer<I> => new SmoothWeightedRoundRobin<I>(),
  random: <I extends Candidate>({ rng }: PolicyOptions): Balancer<I> => new Random<I>(rng),
  weighted_random: <I extends Candidate>({ rng }: PolicyOptions): Balancer<I> => new WeightedRandom<I>(rng),
  hash: <I extends Candidate>(): Balancer<I> => new Hash<I>(),
  weighted_hash: <I extends Candidate>(): Balancer<I> => new WeightedHash<I>(),
  consistent_hash: <I extends Candidate>({ ring, weightedRing }: PolicyOptions): Balancer<I> =>
    new ConsistentHash<I>(ring ?? 'gozero', weightedRing ?? false),
} as const;

export type PolicyName = keyof typeof factories;
export const policyNames = Object.keys(factories) as PolicyName[];

const aliases: ReadonlyMap<string, PolicyName> = new Map([['weighted_round_robin', 'smooth_weighted_round_robin']]);

/** The policy that `name` or an alias means. @throws USAGE with the names there are. */
export function policyNamed(name: string): PolicyName {
  const found = aliases.get(name) ?? policyNames.find((candidate) => candidate === name);
  if (found !== undefined) return found;
  throw new LbctlError('USAGE', `There is no policy "${name}"`, {
    suggestions: [`Policies: ${[...policyNames, ...aliases.keys()].join(', ')}`],
  });
}

/** A balancer over no instances yet; clock and rng are the system's unless given. @throws USAGE for an unknown name. */
export function createBalancer<I extends Candidate>(name: string, options: Partial<PolicyOptions> = {}): Balancer<I> {
  return factories[policyNamed(name)]<I>({ rng: systemRng, clock: systemClock, ...options });
}
