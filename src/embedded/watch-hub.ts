import type { Clock } from '../core/model/clock.js';
import type { MvccStore } from './store.js';
import { WatchSession, type WatchSink } from './watch-session.js';

/** Every open watch stream hears of every revision. */
export class WatchHub {
  readonly #sessions = new Set<WatchSession>();
  readonly #store: MvccStore;
  readonly #clock: Clock;

  constructor(store: MvccStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    store.onCommit(() => {
      for (const session of this.#sessions) session.deliver();
    });
  }

  /** One session a stream; the caller closes it when the stream ends. */
  open(sink: WatchSink): WatchSession {
    const session: WatchSession = new WatchSession(this.#store, this.#clock, sink, () => {
      this.#sessions.delete(session);
    });
    this.#sessions.add(session);
    return session;
  }

  close(): void {
    for (const session of [...this.#sessions]) session.close();
  }
}
