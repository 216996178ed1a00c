import type { Publisher } from '../../core/discovery/publisher.js';
import { sleep, systemClock } from '../../core/model/clock.js';

const upMs = 15_000;
const awayMs = 5000;

/** An instance that is restarted again and again: it leaves, and registers anew after a while, until `stop()`. */
export function keepRestarting(first: Publisher, create: () => Publisher): { stop(): Promise<void> } {
  const ending = new AbortController();
  const { signal } = ending;
  const run = async () => {
    for (let publisher = first; ; publisher = create()) {
      if (publisher !== first) await publisher.start();
      await sleep(systemClock, upMs, signal);
      await publisher.stop();
      await sleep(systemClock, awayMs, signal);
      if (signal.aborted) return;
    }
  };
  const running = run();
  return {
    stop: async () => {
      ending.abort();
      await running;
    },
  };
}
