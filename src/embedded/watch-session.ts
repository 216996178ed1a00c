import type { Clock, Timer } from '../core/model/clock.js';
import type { MvccStore } from './store.js';
import { newWatcher, nextBatch, type Watcher } from './watcher.js';
import type { WatchCreateRequest, WatchRequest, WatchResponse, WireEvent } from './wire.js';

/** Where the answers of one stream go. False: it is full; nothing but control frames follows until `resume()`. */
export type WatchSink = (response: WatchResponse) => boolean;

/** As etcd's `--watch-progress-notify-interval`. */
const progressIntervalMs = 10 * 60_000;
/** etcd's limit of a request with the overhead it allows for gRPC: bigger answers are cut when the watcher agreed. */
const maxFrameBytes = 2 * 1024 * 1024;
/** Field tags, lengths and the five int64 of an event, at most. */
const eventOverheadBytes = 128;
const noWatcher = '-1';

/** The watchers of one stream (etcd server/etcdserver/api/v3rpc/watch.go). */
export class WatchSession {
  readonly #store: MvccStore;
  readonly #clock: Clock;
  readonly #send: WatchSink;
  readonly #onClose: () => void;
  readonly #watchers = new Map<string, Watcher>();
  #nextId = 0n;
  #full = false;
  #progressTimer: Timer;

  constructor(store: MvccStore, clock: Clock, sink: WatchSink, onClose: () => void) {
    this.#store = store;
    this.#clock = clock;
    this.#send = sink;
    this.#onClose = onClose;
    this.#progressTimer = this.#armProgress();
  }

  receive(request: WatchRequest): void {
    if (request.create_request) this.#create(request.create_request);
    else if (request.cancel_request) this.#cancel(request.cancel_request.watch_id);
    else if (request.progress_request) this.#progressOfAll();
  }

  /** Brings every watcher up to the present, as far as the stream takes it. */
  deliver(): void {
    for (const [id, watcher] of this.#watchers) this.#deliverTo(id, watcher);
  }

  /** The stream takes more. */
  resume(): void {
    this.#full = false;
    this.deliver();
  }

  close(): void {
    this.#progressTimer.cancel();
    this.#watchers.clear();
    this.#onClose();
  }

  #create(request: WatchCreateRequest): void {
    const watcher = newWatcher(request, this.#store.revision);
    const refusal = this.#refusalOf(request, watcher);
    if (refusal) {
      this.#send({ ...this.#frame(noWatcher), created: true, canceled: true, cancel_reason: refusal });
      return;
    }
    const id = request.watch_id === '0' ? this.#freeId() : request.watch_id;
    this.#watchers.set(id, watcher);
    this.#send({ ...this.#frame(id), created: true });
    this.#deliverTo(id, watcher);
  }

  #refusalOf(request: WatchCreateRequest, { startRevision, interval }: Watcher): string | null {
    if (startRevision < 0) return 'etcdserver: mvcc: required revision has been compacted';
    if (interval.end !== null && interval.start >= interval.end) return 'mvcc: watcher range is empty';
    if (this.#watchers.has(request.watch_id) && request.watch_id !== '0')
      return 'mvcc: duplicate watch ID provided on the WatchStream';
    return null;
  }

  /** etcd gives no answer for an unknown id. */
  #cancel(id: string): void {
    if (this.#watchers.delete(id)) this.#send({ ...this.#frame(id), canceled: true });
  }

  /** One answer for the whole stream, and none at all while any of its watchers is behind or ahead of the store. */
  #progressOfAll(): void {
    const watchers = [...this.#watchers.values()];
    if (watchers.length > 0 && watchers.every((watcher) => this.#inSync(watcher))) this.#send(this.#frame(noWatcher));
  }

  #armProgress(): Timer {
    return this.#clock.timer(
      progressIntervalMs,
      () => {
        for (const [id, watcher] of this.#watchers) {
          if (watcher.progressNotify && !watcher.busy && this.#inSync(watcher)) this.#send(this.#frame(id));
          watcher.busy = false;
        }
        this.#progressTimer = this.#armProgress();
      },
      { background: true },
    );
  }

  #inSync(watcher: Watcher): boolean {
    return watcher.nextRevision > this.#store.revision && watcher.startRevision <= this.#store.revision;
  }

  #deliverTo(id: string, watcher: Watcher): void {
    while (!this.#full && watcher.nextRevision <= this.#store.revision) {
      if (watcher.nextRevision < this.#store.compactedRevision) {
        this.#watchers.delete(id);
        // Revision 0 is what etcd sends here.
        const header = { revision: 0 };
        const compact_revision = this.#store.compactedRevision;
        this.#send({ header, watch_id: id, canceled: true, compact_revision });
        return;
      }
      const events = nextBatch(this.#store, watcher);
      if (events.length > 0) this.#sendEvents(id, watcher, events);
    }
  }

  #sendEvents(id: string, watcher: Watcher, events: WireEvent[]): void {
    const frame = this.#frame(id);
    const frames = watcher.fragment ? cut(events) : [events];
    for (const [i, part] of frames.entries()) {
      this.#full = !this.#send({ ...frame, events: part, fragment: i < frames.length - 1 });
    }
    watcher.busy = true;
  }

  #frame(id: string) {
    return { header: { revision: this.#store.revision }, watch_id: id };
  }

  #freeId(): string {
    while (this.#watchers.has(this.#nextId.toString())) this.#nextId++;
    return (this.#nextId++).toString();
  }
}

function cut(events: WireEvent[]): WireEvent[][] {
  const frames: WireEvent[][] = [];
  let room = 0;
  for (const event of events) {
    const size = sizeOf(event.kv) + (event.prev_kv ? sizeOf(event.prev_kv) : 0) + eventOverheadBytes;
    const frame = frames.at(-1);
    if (frame && size < room) {
      frame.push(event);
      room -= size;
    } else {
      frames.push([event]);
      room = maxFrameBytes - size;
    }
  }
  return frames;
}

const sizeOf = (kv: WireEvent['kv']) => kv.key.length + kv.value.length;
