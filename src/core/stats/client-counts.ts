import type { InstanceView } from '../balancer/balancer.js';
import type { Clock } from '../model/clock.js';
import { cancelledCode, okCode } from '../model/status-codes.js';
import type { InstanceFigures } from './figures.js';
import { InstanceCounts, type InstanceTotals } from './instance-counts.js';

/**
 * What one client counts of each instance. One that left the list is remembered while calls are in flight there, and for a
 * minute after the last thing that happened; when it comes back by then its counts go on.
 */
export class ClientCounts {
  readonly #clock: Clock;
  readonly #answers: readonly number[];
  #listed = new Map<string, InstanceCounts>();
  readonly #gone = new Map<string, InstanceCounts>();

  /** `answers` are status codes that are no errors to this client. */
  constructor(clock: Clock, answers: readonly number[]) {
    this.#clock = clock;
    this.#answers = answers;
  }

  /** From now on these are the instances. */
  list(addresses: readonly string[]): void {
    const before = this.#listed;
    const nowMs = this.#clock.monotonic();
    this.#forget(nowMs);
    this.#listed = new Map();
    for (const address of addresses) {
      const counts = before.get(address) ?? this.#gone.get(address) ?? new InstanceCounts(address, nowMs);
      counts.isListed = true;
      this.#gone.delete(address);
      this.#listed.set(address, counts);
    }
    for (const [address, counts] of before) {
      if (this.#listed.has(address)) continue;
      counts.isListed = false;
      this.#gone.set(address, counts);
    }
    this.#forget(nowMs);
  }

  has(address: string): boolean {
    return this.#listed.has(address);
  }

  /** Of the list. */
  get size(): number {
    return this.#listed.size;
  }

  /** Of an instance on the list. */
  of(address: string): InstanceCounts | undefined {
    return this.#listed.get(address);
  }

  /** In the order of the list. */
  get listed(): readonly InstanceCounts[] {
    return [...this.#listed.values()];
  }

  /** Calls in flight on addresses that have left the list, by address; only those above 0. */
  leaving(): ReadonlyMap<string, number> {
    const calls = new Map<string, number>();
    for (const { address, inFlight } of this.#gone.values()) if (inFlight > 0) calls.set(address, inFlight);
    return calls;
  }

  isError(code: number): boolean {
    return code !== okCode && code !== cancelledCode && !this.#answers.includes(code);
  }

  /** Those on the list in its order, then those that have left. */
  all(): readonly InstanceCounts[] {
    this.#forget(this.#clock.monotonic());
    return [...this.#listed.values(), ...this.#gone.values()];
  }

  /** Of `all`; `views` is what the policy keeps. */
  figures(views: readonly InstanceView[]): readonly InstanceFigures[] {
    const nowMs = this.#clock.monotonic();
    return this.#each(views, (counts, view) => counts.figures(view, nowMs));
  }

  /** Of the same. */
  totals(views: readonly InstanceView[]): readonly InstanceTotals[] {
    return this.#each(views, (counts, view) => counts.totals(view));
  }

  #each<T>(views: readonly InstanceView[], of: (counts: InstanceCounts, view: InstanceView | undefined) => T): T[] {
    const byAddress = new Map(views.map((view) => [view.address, view]));
    return this.all().map((counts) => of(counts, counts.isListed ? byAddress.get(counts.address) : undefined));
  }

  #forget(nowMs: number): void {
    for (const [address, counts] of this.#gone) if (!counts.isOfInterest(nowMs)) this.#gone.delete(address);
  }
}
