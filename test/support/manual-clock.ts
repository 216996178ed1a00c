import type { Clock, Timer } from '../../src/core/model/clock.js';

/** Time that moves only when a test says so. Between two timers everything that became ready gets to run. */
export class ManualClock implements Clock {
  #now = 1_700_000_000_000;
  #timers: { at: number; order: number; fn: () => void }[] = [];
  #order = 0;

  now() {
    return this.#now;
  }

  monotonic() {
    return this.#now;
  }

  timer(ms: number, fn: () => void): Timer {
    const entry = { at: this.#now + ms, order: this.#order++, fn };
    this.#timers.push(entry);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== entry);
      },
    };
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at || a.order - b.order)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = Math.max(this.#now, next.at);
      next.fn();
      await settle();
    }
    this.#now = end;
    await settle();
  }

  /** Time passes and nothing runs, as in a process that is stopped. */
  holdUp(ms: number): void {
    this.#now += ms;
  }

  get pending(): number {
    return this.#timers.length;
  }
}

/** Lets promises and deferred calls run until nothing more is likely to be ready. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await new Promise((resolve) => setImmediate(resolve));
}
