import type { Clock } from '../../model/clock.js';

/** Of one core, averaged; what was not used adds up to this much. */
const share = 0.03;
const burstMs = 25;

/**
 * How much time updates of a policy may take: the ring of 50 instances takes milliseconds to build, and a registry in
 * trouble can change a thousand times a second. Until the budget is overdrawn every update is made at once.
 */
export class UpdateBudget {
  readonly #clock: Clock;
  #creditMs = burstMs;
  #at: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.monotonic();
  }

  allows(): boolean {
    const now = this.#clock.monotonic();
    this.#creditMs = Math.min(burstMs, this.#creditMs + (now - this.#at) * share);
    this.#at = now;
    return this.#creditMs > 0;
  }

  charge(work: () => void): void {
    const startedAt = this.#clock.monotonic();
    work();
    this.#creditMs -= this.#clock.monotonic() - startedAt;
  }
}
