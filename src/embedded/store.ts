import type { Interval } from './interval.js';
import { refuse } from './refusals.js';
import { firstIndex } from './sorted.js';

/**
 * One state of one key. Revisions are plain numbers here: they count the writes of this process from 1 and cannot
 * reach 2^53. Lease ids are chosen by clients from all of int64, hence bigint.
 */
export interface Entry {
  readonly key: string;
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
  /** 0: the key was deleted at `modRevision`. */
  readonly version: number;
  /** 0n: none. */
  readonly lease: bigint;
}

export interface Change {
  readonly entry: Entry;
  /** The living entry that it replaced. */
  readonly previous: Entry | null;
}

export interface ReadView {
  /** Of the newest state that this view can see. */
  readonly revision: number;
  readonly compactedRevision: number;
  /**
   * Living entries ordered by key; `atRevision` <= 0 means now.
   * @throws EtcdRefusal compacted or future revision.
   */
  range(interval: Interval, atRevision?: number): Entry[];
}

export interface WriteView extends ReadView {
  put(key: string, value: Buffer, lease: bigint): void;
  /** The entries that were deleted. */
  delete(interval: Interval): Entry[];
}

const nothing = Buffer.alloc(0);

/** A multi-version store: every state since the last compaction stays readable. Nothing leaves memory. */
export class MvccStore implements ReadView {
  #revision = 1;
  #compactedRevision = -1;
  /** Every key that has a history, sorted. */
  #keys: string[] = [];
  #histories = new Map<string, Entry[]>();
  /** All changes since the last compaction, by revision, then by order in the transaction. */
  #log: Change[] = [];
  readonly #listeners: Array<(changes: readonly Change[]) => void> = [];

  get revision(): number {
    return this.#revision;
  }

  get compactedRevision(): number {
    return this.#compactedRevision;
  }

  /** Called after every revision, in order of subscription. */
  onCommit(listener: (changes: readonly Change[]) => void): void {
    this.#listeners.push(listener);
  }

  range(interval: Interval, atRevision = 0): Entry[] {
    return this.#rangeSeenFrom(this.#revision, interval, atRevision);
  }

  /** Runs `work`; all that it changes becomes one revision, and nothing changed is no revision. */
  write<T>(work: (view: WriteView) => T): T {
    const changes: Change[] = [];
    const next = this.#revision + 1;
    const seen = () => (changes.length > 0 ? next : next - 1);
    const record = (entry: Entry) => {
      const previous = this.#living(entry.key, next) ?? null;
      this.#append(entry);
      changes.push({ entry, previous });
    };
    const store = this;
    try {
      return work({
        get revision() {
          return seen();
        },
        compactedRevision: store.#compactedRevision,
        range: (interval, atRevision = 0) => store.#rangeSeenFrom(seen(), interval, atRevision),
        put(key, value, lease) {
          const before = store.#living(key, next);
          record({
            key,
            value,
            createRevision: before?.createRevision ?? next,
            modRevision: next,
            version: (before?.version ?? 0) + 1,
            lease,
          });
        },
        delete(interval) {
          const doomed = store.#rangeSeenFrom(next, interval, next);
          for (const { key } of doomed) {
            record({ key, value: nothing, createRevision: 0, modRevision: next, version: 0, lease: 0n });
          }
          return doomed;
        },
      });
    } finally {
      if (changes.length > 0) {
        this.#revision = next;
        for (const change of changes) this.#log.push(change);
        for (const listener of this.#listeners) listener(changes);
      }
    }
  }

  /** Changes of revision `from` and later, oldest first. What was compacted is missing: compare before asking. */
  *changesFrom(from: number): Generator<Change> {
    const start = firstIndex(this.#log, (change) => change.entry.modRevision >= from);
    for (let i = start; i < this.#log.length; i++) {
      const change = this.#log[i];
      if (change) yield change;
    }
  }

  /** Forgets every state before `revision`; the state at `revision` itself stays readable. */
  compact(revision: number): void {
    if (revision <= this.#compactedRevision) throw refuse.compacted();
    if (revision > this.#revision) throw refuse.futureRevision();
    this.#compactedRevision = revision;
    this.#log = this.#log.slice(firstIndex(this.#log, (change) => change.entry.modRevision >= revision));
    this.#keys = this.#keys.filter((key) => {
      const history = this.#histories.get(key) ?? [];
      const newer = firstIndex(history, (entry) => entry.modRevision > revision);
      const base = history[newer - 1];
      const kept = history.slice(base && base.version > 0 ? newer - 1 : newer);
      if (kept.length > 0) this.#histories.set(key, kept);
      else this.#histories.delete(key);
      return kept.length > 0;
    });
  }

  #rangeSeenFrom(current: number, interval: Interval, atRevision: number): Entry[] {
    if (atRevision > current) throw refuse.futureRevision();
    const at = atRevision <= 0 ? current : atRevision;
    if (at < this.#compactedRevision) throw refuse.compacted();
    const found: Entry[] = [];
    const { start, end } = interval;
    if (end === `${start}\0`) {
      const entry = this.#living(start, at);
      return entry ? [entry] : found;
    }
    for (let i = firstIndex(this.#keys, (key) => key >= start); i < this.#keys.length; i++) {
      const key = this.#keys[i];
      if (key === undefined || (end !== null && key >= end)) break;
      const entry = this.#living(key, at);
      if (entry) found.push(entry);
    }
    return found;
  }

  /** The entry of `key` as of revision `at`, unless it was deleted by then. */
  #living(key: string, at: number): Entry | undefined {
    const history = this.#histories.get(key);
    if (!history) return undefined;
    const last = history[history.length - 1];
    const entry = last && last.modRevision <= at ? last : history[firstIndex(history, (e) => e.modRevision > at) - 1];
    return entry && entry.version > 0 ? entry : undefined;
  }

  #append(entry: Entry): void {
    const history = this.#histories.get(entry.key);
    if (history) {
      history.push(entry);
      return;
    }
    this.#histories.set(entry.key, [entry]);
    this.#keys.splice(
      firstIndex(this.#keys, (key) => key >= entry.key),
      0,
      entry.key,
    );
  }
}
