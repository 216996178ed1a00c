import { LbctlError } from '../model/errors.js';
import type { PickTrace } from './comparisons.js';

/** What a policy needs to know of an instance. `Instance` of the model is one. */
export interface Candidate {
  /** `host:port` for real ones; any text tells instances apart. */
  readonly address: string;
  /** Absent, 0 or less counts as 1. */
  readonly weight?: number;
  /** Empty or absent: not told. */
  readonly zone?: string;
}

/** How a call ended. */
export interface CallOutcome {
  /** gRPC status code; 0 is OK. */
  readonly code: number;
  /** How long the server asked not to be tried (`grpc-retry-pushback-ms`); negative: do not retry at all. */
  readonly pushbackMs?: number;
}

export interface Picked<I extends Candidate> {
  /** Who gets the call: the object of the last update. */
  readonly instance: I;
  /** It is the loser of a comparison, picked because it had not been for long; absent where nobody compares. */
  readonly isForced?: boolean | undefined;
  /** To be called once, when the call has ended; more calls, or after the instance has left, do no harm. */
  done(outcome: CallOutcome): void;
  /** Instead of `done`, when the call never left the client: it is no longer in flight, and nothing is learnt of it. */
  abandon(): void;
}

export interface PickOptions {
  /** The hash key of the call. Policies without keys ignore it. */
  readonly key?: string;
  /**
   * Tells the addresses that this pick should not get: ejected ones, or those that the call has tried already. The
   * policy picks as if they had left, though they keep what was learnt of them. When all are to be avoided, none is.
   */
  readonly avoid?: (address: string) => boolean;
}

/** What a policy knows of one instance at this moment. What it does not keep is null. */
export interface InstanceView {
  /** Of the instance. */
  readonly address: string;
  /** Calls picked and not yet done. */
  readonly inFlight: number | null;
  /** Moving average of the latency. */
  readonly latencyMs: number | null;
  /** Moving average of the successes, 0 to 1. */
  readonly success: number | null;
  /** The number that is compared when instances are compared; lower is better. */
  readonly load: number | null;
  /** Whether calls go there, by how the last ones went; absent or null without health checking. */
  readonly circuit?: 'closed' | 'open' | 'half-open' | null;
  /** Picks of the loser of a comparison, because it had not been picked for long; absent where nobody compares. */
  readonly forcePicks?: number;
}

/** Where a key lands and why. Hashes and points are hex. */
export interface KeyPlacement {
  /** Whose key it is. */
  readonly address: string;
  /** Of the key. */
  readonly hash: string;
  /** Null for policies without a ring. */
  readonly point: string | null;
  /** Which of the owner's virtual nodes is at the point, from 0; null for policies without a ring. */
  readonly virtualNode: number | null;
  /** Who owns the key when the owner has left, who when that one has left too…; empty for policies without an order. */
  readonly next: readonly string[];
}

/** One policy over one set of instances. Not tied to any transport; pure apart from the injected rng. */
export interface Balancer<I extends Candidate = Candidate> {
  /**
   * The full set. Idempotent; what was learnt of instances that stay (by address) is kept. An address that comes
   * twice counts once, the first.
   */
  update(instances: readonly I[]): void;
  /** @throws NO_INSTANCE on an empty set, INVALID_ARGUMENT when the policy needs a key and none was given. */
  pick(options?: PickOptions): Picked<I>;
  /** Policies that hash keys: the placement of one, with at most `nextLimit` next owners. Throws like `pick`. */
  place?(key: string, nextLimit: number): KeyPlacement;
  /** Policies that learn from calls: what they know, in the order of the last update. */
  inspect?(): readonly InstanceView[];
  /** Policies that compare: the last picks in which `address` was compared, newest first, `limit` at most. */
  trace?(address: string, limit: number): readonly PickTrace[];
}

export function noInstance(): LbctlError {
  return new LbctlError('NO_INSTANCE', 'There is no instance to pick from');
}

export function missingKey(policy: string): LbctlError {
  return new LbctlError('INVALID_ARGUMENT', `${policy} needs the hash key of the call, and none was given`);
}

const nothing = (): void => {};

/** A pick of a policy that learns nothing from outcomes. */
export function picked<I extends Candidate>(instance: I | undefined): Picked<I> {
  if (instance === undefined) throw noInstance();
  return { instance, done: nothing, abandon: nothing };
}

export function weightOf(instance: Candidate): number {
  const weight = instance.weight ?? 1;
  return weight > 0 && Number.isFinite(weight) ? weight : 1;
}

/** The instances with each address once, in the given order. */
export function distinct<I extends Candidate>(instances: readonly I[]): I[] {
  const byAddress = new Map<string, I>();
  for (const instance of instances) if (!byAddress.has(instance.address)) byAddress.set(instance.address, instance);
  return [...byAddress.values()];
}

/** By address: clients that got the set in different orders must agree on a key's owner. */
export function sorted<I extends Candidate>(instances: readonly I[]): I[] {
  return distinct(instances).sort((a, b) => (a.address < b.address ? -1 : 1));
}

/** Those of `all` that are not to be avoided; all of them when none is left. */
export function leftOf<T>(all: readonly T[], avoid: PickOptions['avoid'], addressOf: (one: T) => string): readonly T[] {
  if (avoid === undefined) return all;
  const left = all.filter((one) => !avoid(addressOf(one)));
  return left.length === 0 ? all : left;
}

const ownAddress = ({ address }: Candidate): string => address;

export function instancesLeft<I extends Candidate>(
  instances: readonly I[],
  options: PickOptions | undefined,
): readonly I[] {
  return leftOf(instances, options?.avoid, ownAddress);
}

/** The keys of both are the same: what depends on the addresses alone need not be built again. */
export function sameAddresses(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): boolean {
  return a.size === b.size && [...a.keys()].every((address) => b.has(address));
}
