import type { Etcd, KeyRange, KeyValue, Watch, WatchEvent } from '../etcd/port.js';
import { sleep, type Timer } from '../model/clock.js';
import { isLbctlError, messageOf } from '../model/errors.js';
import { type Loaded, loadRanges } from './load.js';
import { backOffMs, type DiscoveryPorts } from './ports.js';

/** A key that came or changed (`kv`), or went (null). */
export interface Change {
  readonly rangeIndex: number;
  readonly key: string;
  readonly kv: KeyValue | null;
  readonly revision: bigint;
}

export interface Batch {
  /** By revision. */
  readonly changes: readonly Change[];
  readonly revision: bigint;
  /** `reload`: history was lost, the changes are the difference to what is there now. */
  readonly how: 'load' | 'events' | 'reload';
  /** Why it was loaded again. */
  readonly reason: string;
}

export interface FollowHandlers {
  batch(batch: Batch): void;
  /** Something has come that is held back until the other ranges have caught up: a batch with it follows. */
  arriving?(): void;
  stale(reason: string): void;
  live(): void;
}

export interface FollowOptions {
  readonly ranges: readonly KeyRange[];
  /** Indexes of the ranges of which at least one must be readable. */
  readonly needed: readonly number[];
}

/** A missed event shows itself within this time: etcd 3.4 and 3.5 can drop one when they compact on a delete. */
const reconcileEveryMs = 180_000;
/** A watch that has just come back may still be delivering; only a difference that outlives this is one. */
const catchUpMs = 1000;
/** Turns of the event loop, some microseconds each, in which the messages of one write may follow one another. */
const gatherTurns = 3;
/**
 * A value that comes alone waits so long for what was written together with it: an instance without its weight and owner, or
 * masked without the record that says so, would be shown wrong. Longer would mend more on a machine under load, where they come
 * milliseconds apart, and delay every lone registration by as much.
 */
const companionMs = 1;
/**
 * After an outage every publisher comes back at once, to an etcd and to machines that are busy with it: for a minute a lone
 * registration waits longer, as nobody waits for it to the millisecond then.
 */
const busyCompanionMs = 20;
const busyForMs = 60_000;
/**
 * etcd brings each range of a stream up to date by itself, 100 ms apart at most, and never says when it has (3.4 answers a
 * progress request before that). So long after a stream is live events wait for one another: told as they come, one range
 * would run ahead of the others and tear writes apart.
 */
const backlogMs = 150;
/** A watch that lasted this long was a good one. */
const settledMs = 5000;

/**
 * Follows key ranges for ever: loads them, watches from that revision on, and when history is lost loads again and tells
 * the difference. What it told last stays true while etcd is away.
 */
export class Follower {
  readonly #etcd: Etcd;
  readonly #options: FollowOptions;
  readonly #handlers: FollowHandlers;
  readonly #ports: DiscoveryPorts;
  readonly #closing = new AbortController();
  readonly #known: Map<string, KeyValue>[];
  readonly #loadedAt: bigint[];
  readonly #denied: boolean[];
  #watch: Watch | null = null;
  #pending: Change[] = [];
  /** The first events of a stream are being gathered; until when, once that is known. A single range waits for none. */
  #isBehind = false;
  #backlog: Timer | null = null;
  /** Runs while the newest change is a value that came alone. */
  #companion: Timer | null = null;
  #revision = 0n;
  #staleSince: number | null = null;
  #liveAgainAt = Number.NEGATIVE_INFINITY;
  #reconciling: Timer | null = null;
  #reloading: Promise<void> | null = null;
  #adoptedAt = 0;
  #earlyLosses = 0;

  constructor(etcd: Etcd, options: FollowOptions, handlers: FollowHandlers, ports: DiscoveryPorts) {
    this.#etcd = etcd;
    this.#options = options;
    this.#handlers = handlers;
    this.#ports = ports;
    this.#known = options.ranges.map(() => new Map());
    this.#loadedAt = options.ranges.map(() => 0n);
    this.#denied = options.ranges.map(() => false);
  }

  /** Which ranges this user may not read. */
  get denied(): readonly boolean[] {
    return this.#denied;
  }

  /** Milliseconds since etcd was last heard, null while it is heard. */
  get staleForMs(): number | null {
    return this.#staleSince === null ? null : this.#ports.clock.monotonic() - this.#staleSince;
  }

  /** Resolves once the first load was told. Only this first load fails; whatever happens later is retried. */
  async start(): Promise<void> {
    const loaded = await this.#load();
    if (this.#closing.signal.aborted) return;
    this.#adopt(loaded, 'load', '');
    this.#reconcileIn(this.#period());
  }

  /** As `start`, trying until it works or is closed. @throws when the user may read none of it. */
  async startInTheEnd(): Promise<void> {
    for (let attempt = 0; !this.#closing.signal.aborted; attempt++) {
      try {
        return await this.start();
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        if (isLbctlError(error, 'ETCD_PERMISSION_DENIED')) throw error;
        await sleep(this.#ports.clock, backOffMs(attempt, this.#ports.rng), this.#closing.signal);
      }
    }
  }

  /** Ends the watch; no handler is called after this was called. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#reconciling?.cancel();
    this.#backlog?.cancel();
    this.#companion?.cancel();
    this.#pending = [];
    await this.#reloading;
    await this.#watch?.close();
  }

  #load(): Promise<Loaded> {
    return loadRanges(this.#etcd, this.#options.ranges, this.#options.needed, { signal: this.#closing.signal });
  }

  #adopt(loaded: Loaded, how: 'load' | 'reload', reason: string): void {
    const changes: Change[] = [];
    for (const [rangeIndex, range] of loaded.ranges.entries()) {
      this.#denied[rangeIndex] = range.denied !== null;
      const known = this.#known[rangeIndex];
      // A right that was taken away says nothing about the instances: what was known stays.
      if (range.denied !== null || !known) continue;
      this.#loadedAt[rangeIndex] = range.revision;
      const now = new Map(range.kvs.map((kv) => [kv.key, kv]));
      for (const key of known.keys()) {
        if (!now.has(key)) changes.push({ rangeIndex, key, kv: null, revision: range.revision });
      }
      for (const kv of range.kvs) {
        if (!sameVersion(known.get(kv.key), kv)) {
          changes.push({ rangeIndex, key: kv.key, kv, revision: kv.modRevision });
        }
      }
      this.#known[rangeIndex] = now;
    }
    this.#revision = loaded.revision;
    this.#adoptedAt = this.#ports.clock.monotonic();
    this.#open(loaded.revision);
    this.#handlers.batch({ changes, revision: loaded.revision, how, reason });
  }

  #open(afterRevision: bigint): void {
    const indexes = [...this.#options.ranges.keys()].filter((index) => !this.#denied[index]);
    const ranges = indexes.flatMap((index) => this.#options.ranges[index] ?? []);
    let mine: Watch | null = null;
    // A handler of a watch that was replaced has nothing to say any more.
    const current = () => !this.#closing.signal.aborted && mine !== null && this.#watch === mine;
    mine = this.#etcd.watch(
      { ranges, afterRevision },
      {
        events: (events, revision, index) => {
          if (current()) this.#events(events, revision, indexes[index] ?? 0);
        },
        live: () => {
          if (current()) this.#live();
        },
        stale: (reason, silentForMs) => {
          if (current()) this.#stale(reason, silentForMs);
        },
        lost: (reason, detail) => {
          if (current()) this.#reload(detail === '' || detail === reason ? reason : `${reason}: ${detail}`);
        },
        denied: (index) => {
          if (!current()) return;
          this.#denied[indexes[index] ?? 0] = true;
          if (this.#options.needed.every((needed) => this.#denied[needed])) this.#stale('permission denied');
        },
      },
    );
    this.#watch = mine;
    this.#fallBehind();
  }

  #events(events: readonly WatchEvent[], revision: bigint, rangeIndex: number): void {
    const known = this.#known[rangeIndex];
    if (!known) return;
    const changes: Change[] = [];
    for (const { type, kv } of events) {
      // Ranges are loaded side by side and watched from the lowest of their revisions.
      if (kv.modRevision <= (this.#loadedAt[rangeIndex] ?? 0n)) continue;
      if (type === 'put') known.set(kv.key, kv);
      else if (!known.delete(kv.key)) continue;
      changes.push({ rangeIndex, key: kv.key, kv: type === 'put' ? kv : null, revision: kv.modRevision });
    }
    if (revision > this.#revision) this.#revision = revision;
    if (changes.length > 0) this.#gather(changes);
  }

  #gather(changes: readonly Change[]): void {
    // One revision comes after the other: whoever waited for a companion has none.
    if (this.#companion && isAfter(changes[0], this.#pending.at(-1))) this.#flush();
    const wasWaiting = this.#pending.length > 0 && this.#companion === null;
    this.#companion?.cancel();
    this.#companion = null;
    this.#pending.push(...changes);
    const isAlone = this.#isAlone(changes.at(-1));
    if (this.#isBehind || isAlone) this.#handlers.arriving?.();
    if (this.#isBehind) return;
    if (isAlone) this.#companion = this.#ports.clock.timer(this.#companionMs(), () => this.#flush());
    else if (!wasWaiting) this.#flushAfter(gatherTurns);
  }

  #companionMs(): number {
    return this.#ports.clock.monotonic() - this.#liveAgainAt < busyForMs ? busyCompanionMs : companionMs;
  }

  #isAlone(change: Change | undefined): boolean {
    if (this.#options.ranges.length === 1 || !change?.kv) return false;
    const sameWrite = this.#pending.slice(this.#pending.findLastIndex((one) => one.revision < change.revision) + 1);
    return sameWrite.every(({ rangeIndex }) => rangeIndex === change.rangeIndex);
  }

  #flushAfter(turns: number): void {
    this.#ports.defer(() => {
      if (turns > 1) this.#flushAfter(turns - 1);
      else if (!this.#isBehind && !this.#companion) this.#flush();
    });
  }

  #fallBehind(): void {
    this.#isBehind = this.#options.ranges.length > 1;
    this.#backlog?.cancel();
    this.#backlog = null;
    this.#companion?.cancel();
    this.#companion = null;
  }

  #catchUp(): void {
    this.#backlog ??= this.#ports.clock.timer(backlogMs, () => {
      this.#isBehind = false;
      this.#backlog = null;
      this.#flush();
    });
  }

  /** One write to several ranges arrives as several messages; together they are one batch. */
  #flush(): void {
    const changes = this.#pending;
    this.#pending = [];
    this.#companion?.cancel();
    this.#companion = null;
    if (changes.length === 0) return;
    changes.sort((a, b) => (a.revision < b.revision ? -1 : a.revision > b.revision ? 1 : 0));
    const last = changes[changes.length - 1]?.revision ?? this.#revision;
    this.#handlers.batch({ changes, revision: last, how: 'events', reason: '' });
  }

  #stale(reason: string, silentForMs = 0): void {
    this.#fallBehind();
    if (this.#staleSince !== null) return;
    this.#staleSince = this.#ports.clock.monotonic() - silentForMs;
    this.#handlers.stale(reason);
  }

  #live(): void {
    if (this.#isBehind) this.#catchUp();
    if (this.#staleSince === null) return;
    this.#staleSince = null;
    this.#liveAgainAt = this.#ports.clock.monotonic();
    this.#handlers.live();
    this.#reconcileIn(catchUpMs);
  }

  #reload(reason: string): void {
    this.#reloading ??= this.#reloadUntilDone(reason).finally(() => {
      this.#reloading = null;
    });
  }

  async #reloadUntilDone(reason: string): Promise<void> {
    const old = this.#watch;
    this.#watch = null;
    this.#flush();
    await old?.close();
    // A watch that is refused as soon as it is opened must not turn into a storm of loads.
    const early = this.#ports.clock.monotonic() - this.#adoptedAt < settledMs;
    this.#earlyLosses = early ? this.#earlyLosses + 1 : 0;
    if (this.#earlyLosses > 1) {
      await sleep(this.#ports.clock, backOffMs(this.#earlyLosses, this.#ports.rng), this.#closing.signal);
    }
    for (let attempt = 0; !this.#closing.signal.aborted; attempt++) {
      try {
        const loaded = await this.#load();
        if (this.#closing.signal.aborted) return;
        if (this.#staleSince !== null) {
          this.#staleSince = null;
          this.#handlers.live();
        }
        this.#adopt(loaded, 'reload', reason);
        return;
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        this.#stale(isLbctlError(error) ? error.message : messageOf(error));
        await sleep(this.#ports.clock, backOffMs(attempt, this.#ports.rng), this.#closing.signal);
      }
    }
  }

  #period(): number {
    return reconcileEveryMs * (0.75 + 0.5 * this.#ports.rng());
  }

  #reconcileIn(ms: number, suspects: ReadonlySet<string> = new Set()): void {
    this.#reconciling?.cancel();
    if (this.#closing.signal.aborted) return;
    this.#reconciling = this.#ports.clock.timer(ms, () => void this.#reconcile(suspects), { background: true });
  }

  /** Compares with etcd; what differs in the same way twice was missed, and is fetched by loading again. */
  async #reconcile(suspects: ReadonlySet<string>): Promise<void> {
    if (this.#staleSince !== null || this.#reloading) return this.#reconcileIn(this.#period());
    const found = await this.#load().then(
      (loaded) => this.#differences(loaded),
      () => new Set<string>(),
    );
    if (this.#closing.signal.aborted) return;
    if ([...found].some((difference) => suspects.has(difference))) {
      this.#reload('missed events');
      return this.#reconcileIn(this.#period());
    }
    this.#reconcileIn(found.size > 0 ? catchUpMs : this.#period(), found);
  }

  #differences(loaded: Loaded): Set<string> {
    const found = new Set<string>();
    for (const [index, { kvs, revision, denied }] of loaded.ranges.entries()) {
      const known = this.#known[index];
      if (denied !== null || this.#denied[index] || !known) continue;
      const there = new Set<string>();
      for (const kv of kvs) {
        there.add(kv.key);
        const mine = known.get(kv.key);
        // What the watch told after the list was made is newer than the list.
        if (!sameVersion(mine, kv) && !(mine && mine.modRevision > revision)) {
          found.add(`${index} ${kv.modRevision} ${kv.key}`);
        }
      }
      for (const kv of known.values()) {
        if (!there.has(kv.key) && kv.modRevision <= revision) found.add(`${index} gone ${kv.key}`);
      }
    }
    return found;
  }
}

function isAfter(a: Change | undefined, b: Change | undefined): boolean {
  return a !== undefined && b !== undefined && a.revision > b.revision;
}

function sameVersion(a: KeyValue | undefined, b: KeyValue): boolean {
  // createRevision too: after a wipe a new key can carry the very mod revision of the one it replaces.
  return (
    a !== undefined &&
    a.modRevision === b.modRevision &&
    a.createRevision === b.createRevision &&
    a.lease === b.lease &&
    a.value.equals(b.value)
  );
}
