import { sleep } from '../model/clock.js';
import type { LbctlError } from '../model/errors.js';
import { fullJitterMs } from './backoff.js';
import type { Core } from './core.js';
import type { Header, KeyRange, Watch, WatchEvent, WatchHandlers, WatchRequest } from './port.js';
import { type Baseline, takeNew } from './watch-frames.js';
import { type StreamOwner, WatchStream } from './watch-stream.js';

/** A watch outlives its streams: it opens one after the other, each continuing where the last event was delivered. */
export class ResumingWatch implements Watch, StreamOwner {
  readonly ranges: readonly KeyRange[];
  readonly #core: Core;
  readonly #handlers: WatchHandlers;
  readonly #closing = new AbortController();
  readonly #done: Promise<void>;
  readonly #resumeAt: (bigint | null)[];
  baseline: Baseline | null;
  isTokenFresh: boolean;
  #stream: WatchStream | null = null;
  #isStale = false;
  #failures = 0;

  /** `onEnd` is called once, when the watch will call no handler any more. */
  constructor(core: Core, request: WatchRequest, handlers: WatchHandlers, onEnd: () => void) {
    this.#core = core;
    this.ranges = request.ranges;
    this.#handlers = handlers;
    this.#resumeAt = request.ranges.map(() => request.afterRevision + 1n);
    this.baseline = core.lastHeader;
    this.isTokenFresh = core.tokens === null;
    this.#done = this.#run().finally(onEnd);
  }

  close(): Promise<void> {
    this.#closing.abort();
    this.#stream?.close();
    return this.#done;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    // The caller gets its Watch before any handler is called.
    await Promise.resolve();
    while (!signal.aborted) {
      const stream = new WatchStream(this.#core, this);
      this.#stream = stream;
      const end = await stream.ended;
      if (signal.aborted || end.kind === 'closed' || end.kind === 'denied') return;
      if (end.kind === 'lost') return this.#handlers.lost(end.why, end.detail);
      if (end.token && stream.token !== null) this.#core.tokens?.invalidate(stream.token);
      this.isTokenFresh = this.#core.tokens === null || end.token === true;
      if (!this.#isStale) {
        this.#isStale = true;
        this.#handlers.stale(end.reason, this.#core.clock.monotonic() - stream.heardAtMs);
      }
      await sleep(this.#core.clock, fullJitterMs(this.#failures++, this.#core.rng), signal);
    }
  }

  resumeAt(rangeIndex: number): bigint | null {
    return this.#resumeAt[rangeIndex] ?? null;
  }

  seen(header: Header): void {
    this.baseline = header;
  }

  live(): void {
    this.#failures = 0;
    this.#isStale = false;
    this.#handlers.live();
  }

  events(rangeIndex: number, events: readonly WatchEvent[]): void {
    const before = this.#resumeAt[rangeIndex];
    if (before === undefined || before === null) return;
    const { fresh, resumeAt } = takeNew(events, before);
    if (fresh.length === 0) return;
    this.#resumeAt[rangeIndex] = resumeAt;
    this.#handlers.events(fresh, resumeAt - 1n, rangeIndex);
  }

  denied(rangeIndex: number, error: LbctlError): void {
    this.#resumeAt[rangeIndex] = null;
    this.#handlers.denied(rangeIndex, error);
  }
}
