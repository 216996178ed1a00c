import {
  type Balancer,
  type Candidate,
  distinct,
  type Picked,
  type PickOptions,
  picked,
  weightOf,
} from './balancer.js';

interface Entry<I extends Candidate> {
  readonly instance: I;
  readonly weight: number;
  current: number;
}

/**
 * nginx's smooth weighted round robin: at each pick every current rises by its weight, the greatest wins (the first
 * on a tie) and pays the total. 5:1:1 gives A A B A C A A, and all currents are 0 again.
 */
export class SmoothWeightedRoundRobin<I extends Candidate> implements Balancer<I> {
  #entries: Entry<I>[] = [];
  #total = 0;

  update(instances: readonly I[]): void {
    const kept = new Map(this.#entries.map((entry) => [entry.instance.address, entry.current]));
    const set = distinct(instances);
    this.#total = set.reduce((sum, instance) => sum + weightOf(instance), 0);
    this.#entries = set.map((instance) => {
      // A current is always within one total. One that was earned under greater weights would keep its instance from
      // traffic, or flood it, for as many picks as those weights were.
      const current = Math.max(-this.#total, Math.min(this.#total, kept.get(instance.address) ?? 0));
      return { instance, weight: weightOf(instance), current };
    });
  }

  pick(options?: PickOptions): Picked<I> {
    const avoid = options?.avoid;
    const entries = avoid && this.#entries.filter(({ instance }) => !avoid(instance.address));
    if (entries === undefined || entries.length === 0) return this.#pickFrom(this.#entries, this.#total);
    return this.#pickFrom(
      entries,
      entries.reduce((sum, { weight }) => sum + weight, 0),
    );
  }

  #pickFrom(entries: readonly Entry<I>[], total: number): Picked<I> {
    let best = entries[0];
    for (const entry of entries) {
      entry.current += entry.weight;
      if (best !== undefined && entry.current > best.current) best = entry;
    }
    if (best !== undefined) best.current -= total;
    return picked(best?.instance);
  }
}
