import type { IEvent, IWatchResponse } from 'etcd3';
import type { Header, WatchEvent } from './port.js';

/* The pure parts of a watch: what a frame means for what is known. No clock, no I/O. */

/**
 * Joins the fragments of large answers. A fragment alone may end inside a revision: applying it, or moving the resume
 * point after it, would tear that revision or lose its rest.
 */
export class FragmentJoiner {
  readonly #parts = new Map<string, IEvent[]>();

  /** The frame with all events of its fragments, or null while more are to come. */
  push(frame: IWatchResponse): IWatchResponse | null {
    const before = this.#parts.get(frame.watch_id) ?? [];
    if (frame.fragment) {
      this.#parts.set(frame.watch_id, before.concat(frame.events));
      return null;
    }
    this.#parts.delete(frame.watch_id);
    return before.length === 0 ? frame : { ...frame, events: before.concat(frame.events) };
  }
}

/**
 * The events that are new at `resumeAt` (the lowest revision not yet delivered), and the resume point after them. Only
 * events move it: etcd stamps a backlog of many frames with one header, and a created frame promises nothing.
 */
export function takeNew(events: readonly WatchEvent[], resumeAt: bigint): { fresh: WatchEvent[]; resumeAt: bigint } {
  const fresh = events.filter((event) => event.kv.modRevision >= resumeAt);
  const last = fresh.at(-1);
  return { fresh, resumeAt: last === undefined ? resumeAt : last.kv.modRevision + 1n };
}

/**
 * Where to ask the server to start. One below the resume point, so that the watcher is never one of a future revision:
 * from 3.6 on such a watcher gets no progress reply while the store is idle, and looks dead.
 */
export function startRevision(resumeAt: bigint): bigint {
  return resumeAt > 2n ? resumeAt - 1n : 1n;
}

/** What a watch remembers of the cluster it reads. */
export type Baseline = Pick<Header, 'clusterId' | 'raftTerm'>;

/**
 * Why `header` cannot come from the history that was read until now, or null. A lagging member looks the same:
 * only a linearizable read tells it from a store that was wiped or restored.
 */
export function historyBreak(baseline: Baseline | null, header: Header, resumeAt: bigint): string | null {
  if (baseline !== null && header.clusterId !== baseline.clusterId) return 'the cluster has another id';
  if (baseline !== null && header.raftTerm < baseline.raftTerm) return 'the raft term went backwards';
  if (header.revision + 1n < resumeAt) {
    return `the store is at revision ${header.revision}, and ${resumeAt - 1n} was read from it before`;
  }
  return null;
}

/** Texts with which etcd cancels a watcher because of who asks. 3.4 says "permission denied" for a stale token, too. */
export function isAuthReason(reason: string): boolean {
  return /permission denied|auth token|auth store is old|user name is empty/.test(reason);
}
