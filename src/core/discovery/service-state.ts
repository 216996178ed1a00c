import { undialable } from '../dialects/address.js';
import { detect } from '../dialects/detect.js';
import { type Reading, readValue } from '../dialects/layout.js';
import type { KeyValue } from '../etcd/port.js';
import { compareText } from '../model/compare.js';
import type { Instance, Note, Pause } from '../model/instance.js';
import { decodeMeta, decodePause, type KeptKey, type MetaRecord, OverlayKeys, type PauseRecord } from './overlay.js';
import type { DiscoveryOptions, RangeKind } from './service-ranges.js';

interface Row {
  readonly kv: KeyValue;
  readonly reading: Reading;
  readonly address: string;
  readonly id: string;
}

interface MetaRow {
  readonly kv: KeyValue;
  readonly id: string;
  readonly record: MetaRecord;
}

interface PauseRow {
  readonly kv: KeyValue;
  readonly record: PauseRecord;
}

/** One key that came, changed or went, read once. */
export type Prepared =
  | { readonly kind: 'instances'; readonly key: string; readonly row: Row | null }
  | { readonly kind: 'meta'; readonly key: string; readonly row: MetaRow | null }
  | { readonly kind: 'pause'; readonly key: string; readonly address: string; readonly row: PauseRow | null };

/** What a change may alter: instances by key, and by address those that are out of rotation. */
export interface Footprint {
  readonly keys: readonly string[];
  readonly addresses: readonly string[];
}

/**
 * All that is known of one service: the instance keys joined with lbctl's records. Each change costs the same however
 * large the service is; `instances()` alone walks everything.
 */
export class ServiceState {
  readonly service: string;
  readonly #options: DiscoveryOptions;
  readonly #overlay: OverlayKeys;
  readonly #rows = new Map<string, Row>();
  readonly #metas = new Map<string, MetaRow>();
  readonly #pauses = new Map<string, PauseRow>();
  /** address -> number of instance keys; instance key -> overlay key; address -> overlay keys. */
  readonly #keysAt = new Map<string, number>();
  readonly #metaOf = new Map<string, string>();
  readonly #metasAt = new Map<string, Set<string>>();

  constructor(service: string, options: DiscoveryOptions = {}) {
    this.service = service;
    this.#options = options;
    this.#overlay = new OverlayKeys(options.overlayRoot);
  }

  prepare(kind: RangeKind, prefix: string, key: string, kv: KeyValue | null): Prepared {
    if (kind === 'instances') return { kind, key, row: kv && this.#readRow(kv, prefix) };
    const name = this.#overlay.parse(key)?.name ?? '';
    if (kind === 'meta') {
      const record = kv && decodeMeta(kv.value);
      return { kind, key, row: kv && record && { kv, id: name, record } };
    }
    const record = kv && decodePause(kv.value);
    return { kind, key, address: name, row: kv && record && { kv, record } };
  }

  footprint(change: Prepared): Footprint {
    if (change.kind === 'pause') return { keys: [], addresses: [change.address] };
    if (change.kind === 'instances') {
      const addresses = [this.#rows.get(change.key)?.address, change.row?.address];
      return { keys: [change.key], addresses: addresses.filter((address) => address !== undefined) };
    }
    const records = [this.#metas.get(change.key)?.record, change.row?.record].filter((record) => record !== undefined);
    return { keys: records.map((record) => record.key), addresses: records.map((record) => record.address) };
  }

  apply(change: Prepared): void {
    if (change.kind === 'instances') {
      const old = this.#rows.get(change.key);
      if (old) this.#count(old.address, -1);
      this.#rows.delete(change.key);
      if (!change.row) return;
      this.#rows.set(change.key, change.row);
      this.#count(change.row.address, 1);
    } else if (change.kind === 'meta') {
      const old = this.#metas.get(change.key);
      if (old) drop(this.#metasAt, old.record.address, change.key);
      if (old && this.#metaOf.get(old.record.key) === change.key) this.#metaOf.delete(old.record.key);
      this.#metas.delete(change.key);
      if (!change.row) return;
      this.#metas.set(change.key, change.row);
      this.#metaOf.set(change.row.record.key, change.key);
      put(this.#metasAt, change.row.record.address, change.key);
    } else if (change.row) {
      this.#pauses.set(change.address, change.row);
    } else {
      this.#pauses.delete(change.address);
    }
  }

  /** The instance of a key that is in etcd, joined with what is known of it. */
  instance(key: string): Instance | null {
    const row = this.#rows.get(key);
    if (!row) return null;
    const { kv, address, reading } = row;
    const decoded = reading.decoded;
    const meta = this.#meta(key)?.record;
    const paused = address === '' ? undefined : this.#pauses.get(address);
    const masked = decoded?.masked === true;
    const cameBack = paused !== undefined && !masked && isNewer(kv, paused);
    const notes: Note[] = [];
    if (kv.lease === 0n) notes.push('PERMANENT');
    if (address === '') notes.push('UNPARSED');
    else if ((this.#keysAt.get(address) ?? 0) > 1) notes.push('DUPLICATE');
    if (address !== '' && undialable(address) !== null) notes.push('UNDIALABLE');
    if (cameBack) notes.push('CAME-BACK');
    return {
      address,
      id: row.id,
      key,
      service: this.service,
      dialect: reading.dialect,
      admin: masked ? 'paused' : 'up',
      health: 'unknown',
      // What the value itself says wins: it is what every client of that layout acts on.
      weight: decoded?.weight ?? meta?.weight ?? 1,
      zone: decoded?.zone ?? meta?.zone ?? '',
      version: decoded?.version ?? meta?.version ?? '',
      metadata: { ...meta?.metadata, ...decoded?.metadata },
      lease: kv.lease === 0n ? null : { id: kv.lease },
      createRevision: kv.createRevision,
      modRevision: kv.modRevision,
      owner: meta?.owner ?? null,
      since: meta?.since || null,
      pause: paused ? pauseOf(paused.record, cameBack) : masked ? unrecorded : null,
      notes,
    };
  }

  /** Instances of an address that are out of rotation: their keys are gone, lbctl's records tell of them. */
  parked(address: string): readonly Instance[] {
    const pause = this.#pauses.get(address);
    const alive: Instance[] = [];
    for (const overlayKey of this.#metasAt.get(address) ?? []) {
      const meta = this.#metas.get(overlayKey);
      if (meta && meta.record.state !== 'up' && !this.#rows.has(meta.record.key))
        alive.push(this.#parkedOwn(meta, pause));
    }
    if (alive.length > 0 || !pause || this.#keysAt.has(address)) return alive;
    const { strategy, restore } = pause.record;
    if (strategy === 'delete' && restore.length > 0) return restore.map((kept) => this.#deleted(address, pause, kept));
    return [this.#ownerGone(address, pause)];
  }

  /** Everything, in and out of rotation, by address and then key. */
  instances(): readonly Instance[] {
    const all: Instance[] = [];
    for (const key of this.#rows.keys()) {
      const instance = this.instance(key);
      if (instance) all.push(instance);
    }
    for (const address of new Set([...this.#metasAt.keys(), ...this.#pauses.keys()])) all.push(...this.parked(address));
    return all.sort((a, b) => compareText(a.address, b.address) || compareText(a.key, b.key));
  }

  /** The mod revision of the pause record of an address, 0n when there is none. */
  pauseRevision(address: string): bigint {
    return this.#pauses.get(address)?.kv.modRevision ?? 0n;
  }

  /** The pause record of an address, null when there is none. */
  pauseRecord(address: string): PauseRecord | null {
    return this.#pauses.get(address)?.record ?? null;
  }

  /** Every address that has a pause record. */
  pausedAddresses(): readonly string[] {
    return [...this.#pauses.keys()];
  }

  /** What stands at an instance key, null when nothing does. */
  keyValue(key: string): KeyValue | null {
    return this.#rows.get(key)?.kv ?? null;
  }

  /** What the owner of an instance key wrote about it; null for other publishers. */
  metaRecord(key: string): MetaRecord | null {
    return this.#meta(key)?.record ?? null;
  }

  #count(address: string, more: 1 | -1): void {
    const keys = (this.#keysAt.get(address) ?? 0) + more;
    if (keys === 0) this.#keysAt.delete(address);
    else this.#keysAt.set(address, keys);
  }

  #meta(key: string): MetaRow | undefined {
    const overlayKey = this.#metaOf.get(key);
    return overlayKey === undefined ? undefined : this.#metas.get(overlayKey);
  }

  #readRow(kv: KeyValue, prefix: string): Row | null {
    const reading = readValue(kv.value, this.service, prefix, this.#options);
    if (!reading) return null;
    const id = this.#options.exactMatch ? kv.key.slice(kv.key.lastIndexOf('/') + 1) : kv.key.slice(prefix.length);
    return { kv, reading, id, address: reading.decoded?.address ?? '' };
  }

  #parkedOwn({ kv, id, record }: MetaRow, pause: PauseRow | undefined): Instance {
    const withdrawn: Pause = {
      by: 'its own process',
      at: record.since,
      reason: record.reason,
      strategy: 'withdrawn',
      verb: 'pause',
      until: null,
      cameBack: false,
    };
    return {
      ...bare(this.service, record.address),
      id,
      key: record.key,
      dialect: record.dialect,
      weight: record.weight,
      zone: record.zone,
      version: record.version,
      metadata: record.metadata,
      lease: kv.lease === 0n ? null : { id: kv.lease },
      createRevision: kv.createRevision,
      modRevision: kv.modRevision,
      owner: record.owner,
      since: record.since || null,
      pause: pause ? pauseOf(pause.record, false) : record.state === 'withdrawn' ? withdrawn : null,
    };
  }

  /** Out of etcd by our hand: the record remembers it, and only its lease tells whether its owner lives. */
  #deleted(address: string, { kv, record }: PauseRow, kept: KeptKey): Instance {
    const decoded = detect(Buffer.from(kept.value), this.#options.dialect)?.decoded;
    return {
      ...bare(this.service, address),
      id: kept.id,
      key: kept.key,
      dialect: kept.dialect,
      weight: decoded?.weight ?? 1,
      zone: decoded?.zone ?? '',
      version: decoded?.version ?? '',
      metadata: decoded?.metadata ?? {},
      lease: kept.lease === 0n ? null : { id: kept.lease },
      createRevision: kv.createRevision,
      modRevision: kv.modRevision,
      pause: pauseOf(record, false),
      notes: kept.lease === 0n ? ['PERMANENT'] : [],
    };
  }

  #ownerGone(address: string, { kv, record }: PauseRow): Instance {
    const kept = record.restore[0];
    return {
      ...bare(this.service, address),
      id: kept?.id ?? '',
      key: kept?.key ?? '',
      dialect: kept?.dialect ?? 'unknown',
      createRevision: kv.createRevision,
      modRevision: kv.modRevision,
      pause: pauseOf(record, false),
      notes: ['OWNER-GONE'],
    };
  }
}

function bare(service: string, address: string): Instance {
  return {
    address,
    id: '',
    key: '',
    service,
    dialect: 'unknown',
    admin: 'paused',
    health: 'unknown',
    weight: 1,
    zone: '',
    version: '',
    metadata: {},
    lease: null,
    createRevision: 0n,
    modRevision: 0n,
    owner: null,
    since: null,
    pause: null,
    notes: [],
  };
}

function pauseOf({ by, at, reason, strategy, verb, until }: PauseRecord, cameBack: boolean): Pause {
  return { by, at, reason, strategy, verb, until, cameBack };
}

/** A masked value whose record is gone: nobody knows who did it, and `resume` reads the address from the mask. */
const unrecorded: Pause = {
  by: '',
  at: '',
  reason: 'masked, and its record is lost',
  strategy: 'mask',
  verb: 'pause',
  until: null,
  cameBack: false,
};

/** A managed instance keeps its key until its publisher follows; any write after a mask or a delete is its owner's. */
function isNewer(kv: KeyValue, { record, kv: { modRevision } }: PauseRow): boolean {
  return (record.strategy === 'managed' ? kv.createRevision : kv.modRevision) > modRevision;
}

function put(index: Map<string, Set<string>>, at: string, key: string): void {
  const keys = index.get(at);
  if (keys) keys.add(key);
  else index.set(at, new Set([key]));
}

function drop(index: Map<string, Set<string>>, at: string, key: string): void {
  const keys = index.get(at);
  keys?.delete(key);
  if (keys?.size === 0) index.delete(at);
}
