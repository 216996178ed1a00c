import type { Clock, Timer } from '../../src/core/model/clock.js';

/** A clock that stands still until it is told to go on; timers fire in order, each at its time. */
export class ManualClock implements Clock {
  #nowMs = 0;
  readonly #timers = new Set<{ dueMs: number; fn: () => void }>();

  now(): number {
    return this.#nowMs;
  }

  monotonic(): number {
    return this.#nowMs;
  }

  timer(ms: number, fn: () => void): Timer {
    const timer = { dueMs: this.#nowMs + ms, fn };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }

  advance(ms: number): void {
    const endMs = this.#nowMs + ms;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs)[0];
      if (!due) break;
      this.#timers.delete(due);
      this.#nowMs = due.dueMs;
      due.fn();
    }
    this.#nowMs = endMs;
  }
}
