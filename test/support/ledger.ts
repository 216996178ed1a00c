/**
 * Double-entry bookkeeping for `watch -o json`: what its lines add up to, and whether every event that etcd had is
 * among them. Pure: lines and events in, findings out.
 */
import type { TrueEvent } from './etcd-truth.js';

export interface Line {
  readonly type: string;
  readonly revision: bigint;
  readonly cause: string;
  readonly address: string;
  /** Empty for lines about no instance. */
  readonly key: string;
  readonly admin: string;
  /** Decimal; null for a permanent key. */
  readonly lease: string | null;
}

/** @throws when it is not a line of the JSON contract. */
export function parseLine(text: string): Line {
  const { schemaVersion, type, revision, cause, address, instance } = JSON.parse(text);
  if (schemaVersion !== 1 || typeof type !== 'string' || !/^\d+$/.test(revision)) throw new Error(`Odd line: ${text}`);
  return {
    type,
    revision: BigInt(revision),
    cause: cause ?? '',
    address: address ?? '',
    key: instance?.key ?? '',
    admin: instance?.admin ?? '',
    lease: instance?.lease?.id ?? null,
  };
}

export interface Known {
  readonly address: string;
  readonly admin: string;
  readonly lease: string | null;
}

export interface Folded {
  /** By key. */
  readonly instances: ReadonlyMap<string, Known>;
  readonly isSynced: boolean;
  readonly isStale: boolean;
  readonly resyncs: number;
  /** Lines that cannot be true after the lines before them. */
  readonly contradictions: readonly string[];
}

const additions = new Set(['SNAPSHOT', 'ADDED', 'RESUMED']);
const updates = new Set(['CHANGED', 'PAUSED']);
const state = new Set(['SYNCED', 'RESYNC', 'STALE', 'LIVE']);

/** What a reader knows who has read these lines from the first on. */
export function foldLines(lines: readonly Line[]): Folded {
  const instances = new Map<string, Known>();
  const contradictions: string[] = [];
  let isSynced = false;
  let isStale = false;
  let resyncs = 0;
  let revision = 0n;
  for (const line of lines) {
    const { type, key, address, admin, lease } = line;
    const wrong = (why: string) => contradictions.push(`${type} ${key} at ${line.revision}: ${why}`);
    if (type === 'RESYNC') {
      resyncs++;
      revision = line.revision;
    } else if (!state.has(type)) {
      if (line.revision < revision) wrong(`after a line of revision ${revision}`);
      revision = line.revision;
    }
    if (type === 'SYNCED') isSynced = true;
    if (type === 'STALE' && isStale) wrong('it was stale already');
    if (type === 'LIVE' && !isStale) wrong('it was not stale');
    if (type === 'STALE') isStale = true;
    if (type === 'LIVE') isStale = false;
    if ((type === 'SNAPSHOT') === isSynced && !state.has(type)) wrong(isSynced ? 'after SYNCED' : 'before SYNCED');
    if (additions.has(type)) {
      const known = instances.get(key);
      if (known && !(type === 'RESUMED' && known.admin === 'paused')) wrong('it was there already');
      // A paused instance may come back under a new key: it is known by its address.
      if (type === 'RESUMED') for (const [k, v] of instances) if (v.address === address) instances.delete(k);
      instances.set(key, { address, admin, lease });
    } else if (updates.has(type)) {
      if (type === 'CHANGED' && !instances.has(key)) wrong('it was not there');
      instances.set(key, { address, admin, lease });
    } else if (type === 'REMOVED') {
      if (!instances.delete(key)) wrong('it was not there');
    }
  }
  return { instances, isSynced, isStale, resyncs, contradictions };
}

export interface Account {
  /** Events that no line tells of. */
  readonly missing: readonly string[];
  /** Lines that tell of no event. */
  readonly invented: readonly string[];
  /** Events told by a line of their own. */
  readonly told: number;
  /** Events that only a difference after lost history covers. */
  readonly covered: number;
}

const tells = { put: new Set(['ADDED', 'CHANGED', 'RESUMED']), delete: new Set(['REMOVED', 'PAUSED']) };

/**
 * Holds every event of etcd's history above `after` against the lines. An event is accounted for by a line of its key
 * and revision, or by a RESYNC at or above its revision. A put that changes neither value nor lease needs no line.
 * `history` may begin before `after`: what it says tells which puts changed something. One cluster life at a time: after a wipe
 * the revisions begin again.
 */
export function account(history: readonly TrueEvent[], lines: readonly Line[], after: bigint): Account {
  const open = new Map<string, Line[]>();
  let resyncAt: bigint | null = null;
  let covers = 0n;
  for (const line of lines) {
    if (line.type === 'RESYNC') {
      resyncAt = line.revision;
      if (line.revision > covers) covers = line.revision;
    }
    const isDifference = line.revision === resyncAt;
    if (state.has(line.type) || line.type === 'SNAPSHOT' || isDifference || line.revision <= after) continue;
    const name = `${line.revision} ${line.key}`;
    open.set(name, [...(open.get(name) ?? []), line]);
  }
  const missing: string[] = [];
  const was = new Map<string, string>();
  let told = 0;
  let covered = 0;
  for (const { type, key, value, lease, revision } of history) {
    const is = type === 'put' ? `${lease} ${value.toString('base64')}` : '';
    const changedNothing = was.get(key) === is;
    was.set(key, is);
    if (revision <= after) continue;
    const name = `${revision} ${key}`;
    const found = open.get(name)?.findIndex((line) => tells[type].has(line.type)) ?? -1;
    if (found >= 0) {
      open.get(name)?.splice(found, 1);
      told++;
    } else if (revision <= covers) {
      covered++;
    } else if (!changedNothing) {
      missing.push(`${type} ${key} at ${revision}`);
    }
  }
  const invented = [...open.values()].flat().map((line) => `${line.type} ${line.key} at ${line.revision}`);
  return { missing, invented, told, covered };
}
