import type { Clock, Rng } from '../model/clock.js';

/** How long an endpoint that failed is avoided while another one is left. */
export const penaltyMs = 5000;

/**
 * Chooses the endpoint of the next call: stays with one as long as it works, because a change costs a connection and
 * spreads one client's reads over members that lag differently.
 */
export class EndpointBalancer<T> {
  readonly all: readonly T[];
  readonly #clock: Clock;
  readonly #avoidUntil = new Map<T, number>();
  #current: number;

  /** `all` must not be empty. The first choice is random, so that many clients do not all start with one member. */
  constructor(all: readonly T[], clock: Clock, rng: Rng) {
    this.all = all;
    this.#clock = clock;
    this.#current = Math.floor(rng() * all.length);
  }

  choose(): T {
    const now = this.#clock.monotonic();
    const inTurn = [...this.all.slice(this.#current), ...this.all.slice(0, this.#current)];
    const until = (item: T) => this.#avoidUntil.get(item) ?? 0;
    const best = inTurn.find((item) => until(item) <= now) ?? inTurn.reduce((a, b) => (until(b) < until(a) ? b : a));
    this.#current = this.all.indexOf(best);
    return best;
  }

  blame(item: T): void {
    this.#avoidUntil.set(item, this.#clock.monotonic() + penaltyMs);
  }

  praise(item: T): void {
    this.#avoidUntil.delete(item);
  }
}
