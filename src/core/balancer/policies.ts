import type { RingFlavour } from '../hashing/ring.js';
import { type Clock, type Rng, systemClock, systemRng } from '../model/clock.js';
import { LbctlError } from '../model/errors.js';
import type { Balancer, Candidate } from './balancer.js';
import { BoundedLoad } from './bounded-load.js';
import { ConsistentHash } from './consistent-hash.js';
import { FastestResponse, type LatencyMeasure } from './fastest-response.js';
import { Hash } from './hash.js';
import { KratosP2c } from './kratos-p2c.js';
import { LeastActive } from './least-active.js';
import { Maglev } from './maglev.js';
import { P2cEwma } from './p2c-ewma.js';
import { PickFirst } from './pick-first.js';
import { PlainWeightedRoundRobin } from './plain-weighted-round-robin.js';
import { Random } from './random.js';
import { Rendezvous } from './rendezvous.js';
import { RoundRobin } from './round-robin.js';
import { SmoothWeightedRoundRobin } from './smooth-weighted-round-robin.js';
import { WeightedHash } from './weighted-hash.js';
import { WeightedRandom } from './weighted-random.js';

/** What policies take; each reads what concerns it. */
export interface PolicyOptions {
  /** For policies that draw. */
  readonly rng: Rng;
  /** For policies that measure. */
  readonly clock: Clock;
  /** For `consistent_hash`; `gozero` when absent. */
  readonly ring?: RingFlavour;
  /** For `consistent_hash`: declared weights are percents of the virtual nodes (see `RingNode`). Absent: ignored. */
  readonly weightedRing?: boolean;
  /** For `maglev`: slots of the table, a prime up to 2^20, at least a hundred times the instances. Default 65537. */
  readonly tableSize?: number;
  /** For `bounded_load`: the most calls in flight an instance may have, as a multiple of the mean. Default 1.25. */
  readonly loadFactor?: number;
  /** For `fastest_response`: what the fastest is told by. Default `ewma`. */
  readonly by?: LatencyMeasure;
  /** For `fastest_response`: how long an answer counts. Default 10,000. */
  readonly windowMs?: number;
  /** For `p2c_ewma`: takes go-zero's statistics line, at the first answer and then at most once a minute. */
  readonly onStatistics?: (line: string) => void;
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
  maglev: <I extends Candidate>({ tableSize }: PolicyOptions): Balancer<I> => new Maglev<I>(tableSize),
  rendezvous: <I extends Candidate>(): Balancer<I> => new Rendezvous<I>(),
  bounded_load: <I extends Candidate>({ loadFactor }: PolicyOptions): Balancer<I> => new BoundedLoad<I>(loadFactor),
  p2c_ewma: <I extends Candidate>({ clock, rng, onStatistics }: PolicyOptions): Balancer<I> =>
    new P2cEwma<I>(clock, rng, onStatistics),
  kratos_p2c: <I extends Candidate>({ clock, rng }: PolicyOptions): Balancer<I> => new KratosP2c<I>(clock, rng),
  least_active: <I extends Candidate>(): Balancer<I> => new LeastActive<I>(),
  fastest_response: <I extends Candidate>({ clock, ...options }: PolicyOptions): Balancer<I> =>
    new FastestResponse<I>(clock, options),
  pick_first: <I extends Candidate>(): Balancer<I> => new PickFirst<I>(),
} as const;

/** The name of a policy. */
export type PolicyName = keyof typeof factories;
/** Every policy, by the name that configuration and flags use. */
export const policyNames = Object.keys(factories) as PolicyName[];

const weighing: ReadonlySet<string> = new Set<PolicyName>([
  'plain_weighted_round_robin',
  'smooth_weighted_round_robin',
  'weighted_random',
  'weighted_hash',
  'rendezvous',
]);

/**
 * Whether the policy of this name calls each instance in proportion to its weight. A `consistent_hash` with `weightedRing`
 * does so too, which its name does not tell.
 */
export function goesByWeight(policy: string): boolean {
  return weighing.has(policy);
}

const aliases: ReadonlyMap<string, PolicyName> = new Map([
  ['weighted_round_robin', 'smooth_weighted_round_robin'],
  ['least_conn', 'least_active'],
]);

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

/** Whether the policy decides by a key, so that each pick needs one. @throws USAGE for an unknown name. */
export function isKeyed(name: string): boolean {
  return createBalancer(name).place !== undefined;
}
