import type { Balancer, CallOutcome, Candidate, InstanceView, Picked, PickOptions } from '../../balancer/balancer.js';
import type { PickTrace } from '../../balancer/comparisons.js';
import { type Clock, systemClock } from '../../model/clock.js';
import { cancelledCode, okCode } from '../../model/status-codes.js';
import { ClientCounts } from '../../stats/client-counts.js';
import type { InstanceFigures } from '../../stats/figures.js';
import type { InstanceCounts, InstanceTotals } from '../../stats/instance-counts.js';
import { UpdateBudget } from './update-budget.js';

/** One attempt of a call that reached an instance and has ended. */
export interface Attempt {
  /** Of the instance that was called. */
  readonly address: string;
  /** gRPC status code; 0 is OK. */
  readonly code: number;
  /** From the stream's start to its end. */
  readonly latencyMs: number;
}

/** What a program wants to see of its calls, and say about them. */
export interface ClientStateOptions {
  /** Called once for each attempt that reached an instance, failed and retried ones too. What it throws is ignored. */
  readonly onAttempt?: (attempt: Attempt) => void;
  /** gRPC status codes that are good answers to this client: policies learn OK from them. */
  readonly answers?: readonly number[];
}

/** What is known of one instance: the counters of this client, and what the policy keeps (null: it does not). */
export interface InstanceStatistics extends InstanceView {
  /** Attempts that chose this instance since it came. */
  readonly picks: number;
  readonly inFlight: number;
  /** Attempts that ended in neither OK nor CANCELLED. */
  readonly failures: number;
}

/** The hold of one attempt on its instance, from the pick to its end. None of its methods throws. */
export interface Reservation {
  readonly address: string;
  /** The stream was opened. */
  started(): void;
  /** The stream has ended. */
  ended(outcome: CallOutcome): void;
  /** The attempt will not be made. */
  abandon(): void;
}

/**
 * A pick whose stream has not been opened after this time is given back. grpc-js tells nobody when a call is cancelled
 * between its pick and its stream, so only time can tell; in between it waits for the credentials of the call, mostly
 * for no time at all, at times for a token server.
 */
export const reservationMs = 1000;

/** A policy, what this client counts of its instances, and the picks that have not become streams yet. */
export class ManagedBalancer {
  readonly keyed: boolean;
  readonly #balancer: Balancer;
  readonly #clock: Clock;
  readonly #onAttempt: ((attempt: Attempt) => void) | undefined;
  readonly #answers: readonly number[];
  readonly #budget: UpdateBudget;
  readonly #counts: ClientCounts;
  #onLeaving = () => {};
  #pending: readonly Candidate[] | undefined;
  // Two generations instead of a time in each: one shared timer, and most are gone within the tick of their pick.
  #young = new Set<Held>();
  #old = new Set<Held>();
  #sweeping = false;

  constructor(balancer: Balancer, { onAttempt, answers = [] }: ClientStateOptions = {}, clock: Clock = systemClock) {
    this.#balancer = balancer;
    this.keyed = balancer.place !== undefined;
    this.#onAttempt = onAttempt;
    this.#answers = answers;
    this.#clock = clock;
    this.#counts = new ClientCounts(clock, answers);
    this.#budget = new UpdateBudget(clock);
  }

  /** The policy gets the list at once, or, when lists come faster than it can digest, later: see `stale`. */
  update(candidates: readonly Candidate[]): void {
    const isNew = !candidates.some(({ address }) => this.#counts.has(address));
    this.#counts.list(candidates.map(({ address }) => address));
    this.#pending = candidates;
    if (isNew || this.#budget.allows()) this.#digest();
  }

  /** The policy has not seen the last list yet: picks have to avoid the instances that it does not know to have left. */
  get stale(): boolean {
    if (this.#pending !== undefined && this.#budget.allows()) this.#digest();
    return this.#pending !== undefined;
  }

  /** Gives the policy the last list whatever it costs. @returns whether that was new to it. */
  catchUp(): boolean {
    const behind = this.#pending !== undefined;
    this.#digest();
    return behind;
  }

  #digest(): void {
    const candidates = this.#pending;
    this.#pending = undefined;
    if (candidates !== undefined) this.#budget.charge(() => this.#balancer.update(candidates));
  }

  get size(): number {
    return this.#counts.size;
  }

  has(address: string): boolean {
    return this.#counts.has(address);
  }

  /** A connection to an instance of the list has been opened, or could not be. */
  reached(address: string, isReachable: boolean): void {
    const counts = this.#counts.of(address);
    if (counts !== undefined) counts.isReachable = isReachable;
  }

  /** A pick that counts as in flight from now on. Throws what the policy's `pick` throws. */
  reserve(options?: PickOptions): Reservation {
    const picked = this.#balancer.pick(options);
    const held = new Held(this, picked, this.#counts.of(picked.instance.address), options?.key);
    this.#young.add(held);
    if (!this.#sweeping) this.#scheduleSweep();
    return held;
  }

  /** Calls in flight on addresses that have left the list, by address; only those above 0. */
  leaving(): ReadonlyMap<string, number> {
    return this.#counts.leaving();
  }

  /** `listener` is called when that changed without an update, in the place of the one before it. */
  onLeaving(listener: () => void): void {
    this.#onLeaving = listener;
  }

  count(counts: InstanceCounts, by: 1 | -1): void {
    counts.inFlight += by;
    if (!counts.isListed) this.#onLeaving();
  }

  inspect(): readonly InstanceStatistics[] {
    const views = new Map(this.#balancer.inspect?.().map((view) => [view.address, view]));
    return this.#counts.listed.map(({ address, picks, forcePicks, inFlight, failures }) => {
      const view = views.get(address);
      const { latencyMs = null, success = null, load = null, circuit = null } = view ?? {};
      const known = { address, picks, inFlight, failures, latencyMs, success, load, circuit };
      return view?.forcePicks === undefined ? known : { ...known, forcePicks: forcePicks ?? 0 };
    });
  }

  /** Each instance of the list, in its order, then those that have left and are still worth telling of. */
  figures(): readonly InstanceFigures[] {
    return this.#counts.figures(this.#balancer.inspect?.() ?? []);
  }

  /** Of the same, what needs no windows. */
  totals(): readonly InstanceTotals[] {
    return this.#counts.totals(this.#balancer.inspect?.() ?? []);
  }

  /** The last picks in which `address` was compared, newest first; none of a policy that does not compare. */
  trace(address: string, limit: number): readonly PickTrace[] {
    return this.#balancer.trace?.(address, limit) ?? [];
  }

  /** A stream opened although its reservation had run out: the instance is to be counted again. */
  reserveAgain(address: string, key: string | undefined): Picked<Candidate> | undefined {
    const avoid = (other: string): boolean => other !== address;
    try {
      const picked = this.#balancer.pick(key === undefined ? { avoid } : { avoid, key });
      if (picked.instance.address === address) return picked;
      picked.abandon();
    } catch {
      // Without instances there is nobody to count for.
    }
    return undefined;
  }

  settle(held: Held): void {
    if (!this.#young.delete(held)) this.#old.delete(held);
  }

  /** Monotonic ms. */
  now(): number {
    return this.#clock.monotonic();
  }

  /** What a policy is to learn from an outcome. */
  learnt(outcome: CallOutcome): CallOutcome {
    return this.#answers.includes(outcome.code) ? { code: okCode } : outcome;
  }

  isError(code: number): boolean {
    return this.#counts.isError(code);
  }

  tell(address: string, code: number, latencyMs: number): void {
    if (this.#onAttempt === undefined) return;
    try {
      this.#onAttempt({ address, code, latencyMs });
    } catch {
      // Thrown on, a listener's mistake would end the process: grpc-js calls this from a stream's event.
    }
  }

  #scheduleSweep(): void {
    this.#sweeping = true;
    this.#clock.timer(reservationMs, () => this.#sweep(), { background: true });
  }

  #sweep(): void {
    const expired = this.#old;
    this.#old = this.#young;
    this.#young = new Set();
    for (const held of expired) held.abandon();
    this.#sweeping = false;
    if (this.#old.size > 0) this.#scheduleSweep();
  }
}

class Held implements Reservation {
  readonly address: string;
  readonly #owner: ManagedBalancer;
  readonly #counts: InstanceCounts | undefined;
  readonly #key: string | undefined;
  #picked: Picked<Candidate> | undefined;
  #startedAt = 0;
  #counted = true;

  constructor(
    owner: ManagedBalancer,
    picked: Picked<Candidate>,
    counts: InstanceCounts | undefined,
    key: string | undefined,
  ) {
    this.#owner = owner;
    this.#picked = picked;
    this.#counts = counts;
    this.#key = key;
    this.address = picked.instance.address;
    if (counts !== undefined) {
      counts.picked(picked.isForced);
      owner.count(counts, 1);
    }
  }

  started(): void {
    this.#startedAt = this.#owner.now();
    this.#counts?.began(this.#startedAt);
    if (this.#counted) {
      this.#owner.settle(this);
      return;
    }
    this.#counted = true;
    this.#picked = this.#owner.reserveAgain(this.address, this.#key);
    if (this.#counts !== undefined) this.#owner.count(this.#counts, 1);
  }

  ended(outcome: CallOutcome): void {
    if (!this.#leave()) return;
    const { code } = outcome;
    const nowMs = this.#owner.now();
    const latencyMs = nowMs - this.#startedAt;
    if (this.#counts !== undefined) {
      if (code !== okCode && code !== cancelledCode) this.#counts.failures++;
      this.#counts.ended(code, latencyMs, nowMs, this.#owner.isError(code));
    }
    this.#report((picked) => picked.done(this.#owner.learnt(outcome)));
    this.#owner.tell(this.address, code, latencyMs);
  }

  abandon(): void {
    if (!this.#leave()) return;
    this.#owner.settle(this);
    this.#report((picked) => picked.abandon());
  }

  #leave(): boolean {
    if (!this.#counted) return false;
    this.#counted = false;
    if (this.#counts !== undefined) this.#owner.count(this.#counts, -1);
    return true;
  }

  #report(how: (picked: Picked<Candidate>) => void): void {
    const picked = this.#picked;
    this.#picked = undefined;
    if (picked === undefined) return;
    try {
      how(picked);
    } catch {
      // grpc-js calls this from a stream's event, where what a policy throws would end the process.
    }
  }
}
