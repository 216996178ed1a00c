import { contains, type Interval, intervalOf } from './interval.js';
import { wireKeyValue } from './kv-codec.js';
import type { Change, MvccStore } from './store.js';
import type { WatchCreateRequest, WireEvent } from './wire.js';

/** etcd sends a watcher that is behind at most this many revisions at a time. */
const maxRevisionsPerBatch = 1000;

/** One watched range, and the first revision that it has not been told of. */
export interface Watcher {
  readonly interval: Interval;
  readonly startRevision: number;
  readonly skipPuts: boolean;
  readonly skipDeletes: boolean;
  readonly prevKv: boolean;
  readonly fragment: boolean;
  readonly progressNotify: boolean;
  nextRevision: number;
  /** Told of something since the last progress notification: the next one is spared. */
  busy: boolean;
}

export function newWatcher(request: WatchCreateRequest, currentRevision: number): Watcher {
  // No key means the first key there can be.
  const key = request.key.length === 0 ? Buffer.from([0]) : request.key;
  const startRevision = Number(request.start_revision);
  return {
    interval: intervalOf(key, request.range_end),
    startRevision,
    skipPuts: request.filters.includes('Noput'),
    skipDeletes: request.filters.includes('Nodelete'),
    prevKv: request.prev_kv,
    fragment: request.fragment,
    progressNotify: request.progress_notify,
    nextRevision: startRevision === 0 ? currentRevision + 1 : startRevision,
    busy: false,
  };
}

/** The next events of a watcher; moves it behind them. Empty: nothing of what happened concerns it. */
export function nextBatch(store: MvccStore, watcher: Watcher): WireEvent[] {
  const events: WireEvent[] = [];
  let revisions = 0;
  let last = 0;
  for (const change of store.changesFrom(watcher.nextRevision)) {
    const { entry } = change;
    if (!contains(watcher.interval, entry.key)) continue;
    if (entry.modRevision !== last) {
      if (revisions === maxRevisionsPerBatch) {
        watcher.nextRevision = entry.modRevision;
        return events;
      }
      revisions++;
      last = entry.modRevision;
    }
    const deletion = entry.version === 0;
    if (deletion ? watcher.skipDeletes : watcher.skipPuts) continue;
    events.push(wireEvent(store, change, watcher.prevKv));
  }
  watcher.nextRevision = store.revision + 1;
  return events;
}

function wireEvent(store: MvccStore, { entry, previous }: Change, prevKv: boolean): WireEvent {
  // The state before is one revision back: a compaction at this very revision has taken it.
  const known = entry.modRevision - 1 >= store.compactedRevision;
  return {
    type: entry.version === 0 ? 'Delete' : 'Put',
    kv: wireKeyValue(entry),
    prev_kv: prevKv && known && previous ? wireKeyValue(previous) : null,
  };
}
