/** A minute of ticks: a window covers the tick that is under way and as many before as it has room for. */
const ticks = 600;
const full = 2 ** 16 - 1;

/** What of three things happened within a window. */
export interface Counts {
  began: number;
  ended: number;
  failed: number;
}

const stride = 4;
const beganAt = 0;
const endedAt = 1;
const failedAt = 2;

/** Counts by ticks of 100 ms over the last minute. */
export class CountWindows {
  /** The three counts of a tick beside each other: a call writes to one line of the processor's cache. */
  readonly #counts = new Uint16Array(ticks * stride);
  #tick = Number.NEGATIVE_INFINITY;
  #at = 0;

  /** A `tick` never goes back, here and below. */
  began(tick: number): void {
    if (tick !== this.#tick) this.#turn(tick);
    this.#bump(this.#at + beganAt);
  }

  ended(tick: number, isFailure: boolean): void {
    if (tick !== this.#tick) this.#turn(tick);
    this.#bump(this.#at + endedAt);
    if (isFailure) this.#bump(this.#at + failedAt);
  }

  /** Of the last `length` ticks, the one under way among them; 600 at most. */
  sum(length: number, tick: number): Counts {
    if (tick !== this.#tick) this.#turn(tick);
    const counts = { began: 0, ended: 0, failed: 0 };
    for (let i = 0, at = this.#at; i < length; i++, at = at === 0 ? (ticks - 1) * stride : at - stride) {
      counts.began += this.#counts[at + beganAt] ?? 0;
      counts.ended += this.#counts[at + endedAt] ?? 0;
      counts.failed += this.#counts[at + failedAt] ?? 0;
    }
    return counts;
  }

  /** The ticks that have begun since the last call hold what is a minute old. */
  #turn(tick: number): void {
    for (let passed = Math.max(this.#tick, tick - ticks) + 1; passed <= tick; passed++) {
      const at = (passed % ticks) * stride;
      this.#counts[at + beganAt] = 0;
      this.#counts[at + endedAt] = 0;
      this.#counts[at + failedAt] = 0;
    }
    this.#tick = tick;
    this.#at = (tick % ticks) * stride;
  }

  #bump(index: number): void {
    const count = this.#counts[index] ?? 0;
    if (count < full) this.#counts[index] = count + 1;
  }
}
