import type { Clock, Timer } from '../../model/clock.js';

/** Each push makes grpc-js build its load balancer's children anew, so a storm of changes is let through 50 times a second. */
const leastIntervalMs = 20;

/**
 * Hands over the newest value: at once, then once an interval, and only when it differs from the one before. A newest value
 * that does not is told to `keep` instead.
 */
export class Pusher<T> {
  readonly #push: (value: T) => void;
  readonly #same: (a: T, b: T) => boolean;
  readonly #clock: Clock;
  readonly #keep: (value: T) => void;
  #pushed: T | null = null;
  #newest: T | null = null;
  #pushedAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | null = null;

  constructor(
    push: (value: T) => void,
    same: (a: T, b: T) => boolean,
    clock: Clock,
    keep: (value: T) => void = () => {},
  ) {
    this.#push = push;
    this.#same = same;
    this.#clock = clock;
    this.#keep = keep;
  }

  offer(value: T): void {
    this.#newest = value;
    if (this.#timer !== null) return;
    const waitMs = this.#pushedAt + leastIntervalMs - this.#clock.monotonic();
    if (waitMs <= 0) this.#flush();
    // A call that waits for it holds the process by itself.
    else this.#timer = this.#clock.timer(Math.ceil(waitMs), () => this.#flush(), { background: true });
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#newest = null;
  }

  #flush(): void {
    this.#timer = null;
    const value = this.#newest;
    this.#newest = null;
    if (value === null) return;
    if (this.#pushed !== null && this.#same(this.#pushed, value)) {
      this.#keep(value);
      return;
    }
    this.#pushed = value;
    this.#pushedAt = this.#clock.monotonic();
    this.#push(value);
  }
}
