import { ringFlavours } from '../hashing/ring.js';
import { systemClock, systemRng } from '../model/clock.js';
import { LbctlError } from '../model/errors.js';
import type { Balancer, Candidate } from './balancer.js';
import { latencyMeasures } from './fastest-response.js';
import { AdaptiveWeights } from './guard/adaptive-weights.js';
import type { CircuitSettings } from './guard/circuit.js';
import { Guarded } from './guard/guarded.js';
import { createBalancer, type PolicyName, type PolicyOptions, policyNamed } from './policies.js';

/** A policy and everything about it, as yaml or JSON spell it: a bare name is a policy with nothing else said. */
export interface BalancerConfig extends Omit<PolicyOptions, 'rng' | 'clock' | 'onStatistics'> {
  /** A policy's name or alias. */
  readonly policy: string;
  /**
   * Leaves out instances that fail: three failures in a row, 10 s, then one call to see. On when absent; false for the bare
   * policy.
   */
  readonly health?: boolean | CircuitSettings;
  /** Lets weights fall with failures and grow with successes. Only for policies with weights and without keys. */
  readonly adaptiveWeights?: boolean;
  /** The client's own zone, whose instances are preferred. */
  readonly zone?: string;
}

/** What a configured balancer takes from its surroundings; the system's unless given. */
export type BalancerPorts = Partial<Pick<PolicyOptions, 'onStatistics' | 'rng' | 'clock'>>;

const weighted: readonly PolicyName[] = [
  'plain_weighted_round_robin',
  'smooth_weighted_round_robin',
  'weighted_random',
];

/** Each setting: what is said of a value that will not do, and the policies it is for (all when absent). */
const settings: Record<
  Exclude<keyof BalancerConfig, 'policy'>,
  { readonly wants: string; readonly policies?: readonly PolicyName[]; accepts(value: unknown): boolean }
> = {
  ring: { wants: `one of ${ringFlavours}`, policies: ['consistent_hash'], accepts: oneOf(ringFlavours) },
  weightedRing: { wants: 'true or false', policies: ['consistent_hash'], accepts: isBoolean },
  tableSize: { wants: 'a prime', policies: ['maglev'], accepts: isPositive },
  loadFactor: { wants: 'a number above 1', policies: ['bounded_load'], accepts: isPositive },
  by: { wants: `one of ${latencyMeasures}`, policies: ['fastest_response'], accepts: oneOf(latencyMeasures) },
  windowMs: { wants: 'milliseconds above 0', policies: ['fastest_response'], accepts: isPositive },
  health: { wants: 'true, false, or {"failures", "openMs"}', accepts: isHealth },
  adaptiveWeights: { wants: 'true or false', policies: weighted, accepts: isBoolean },
  zone: { wants: 'a text', accepts: (value) => typeof value === 'string' },
};

/**
 * Reads what a configuration file says of a balancer: `"p2c_ewma"`, or `{"policy": "maglev", "health": false}`.
 * @throws USAGE naming the setting and what it takes.
 */
export function parseBalancerConfig(value: unknown): BalancerConfig {
  const given = typeof value === 'string' ? { policy: value } : value;
  if (!isRecord(given) || typeof given.policy !== 'string') {
    throw usage(`${JSON.stringify(value)} names no policy`, 'Write a name, or {"policy": "p2c_ewma"}.');
  }
  const policy = policyNamed(given.policy);
  for (const [name, setting] of Object.entries(given)) {
    if (name === 'policy' || setting === undefined) continue;
    const known = Object.hasOwn(settings, name) ? settings[name as keyof typeof settings] : undefined;
    if (known === undefined) {
      throw usage(`A balancer has no setting "${name}"`, `Settings: policy, ${Object.keys(settings).join(', ')}`);
    }
    if (known.policies && !known.policies.includes(policy)) {
      throw usage(`${policy} takes no "${name}"`, `It is for ${known.policies.join(', ')}.`);
    }
    if (!known.accepts(setting)) throw usage(`"${name}" is ${JSON.stringify(setting)}`, `It takes ${known.wants}.`);
  }
  return { ...(given as object), policy };
}

/**
 * A balancer with everything its configuration asks for, over no instances yet.
 * @throws USAGE as `parseBalancerConfig`.
 */
export function createConfigured<I extends Candidate>(
  value: BalancerConfig | string,
  ports: BalancerPorts = {},
): Balancer<I> {
  const { policy, health = true, adaptiveWeights = false, zone = '', ...options } = parseBalancerConfig(value);
  const { clock = systemClock, rng = systemRng } = ports;
  const create = <C extends Candidate>() => createBalancer<C>(policy, { ...options, ...ports, clock, rng });
  const inner: Balancer<I> = adaptiveWeights ? new AdaptiveWeights<I>(create<Candidate>()) : create<I>();
  if (health === false && zone === '') return inner;
  const circuit = typeof health === 'object' ? health : health ? {} : null;
  return new Guarded<I>(inner, { health: circuit, zone }, clock, rng);
}

function isHealth(value: unknown): boolean {
  if (typeof value === 'boolean') return true;
  return (
    isRecord(value) &&
    Object.entries(value).every(([name, of]) => ['failures', 'openMs'].includes(name) && isPositive(of)) &&
    (value.failures === undefined || Number.isInteger(value.failures))
  );
}

function oneOf(names: readonly string[]): (value: unknown) => boolean {
  return (value) => typeof value === 'string' && names.includes(value);
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean';
}

function isPositive(value: unknown): boolean {
  return typeof value === 'number' && value > 0 && Number.isFinite(value);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function usage(message: string, suggestion: string): LbctlError {
  return new LbctlError('USAGE', message, { suggestions: [suggestion] });
}
