import type {
  CallOptions,
  Compare,
  Etcd,
  Header,
  HeldLease,
  KeyRange,
  KeyValue,
  LeaseHandlers,
  LeaseInfo,
  Listing,
  Operation,
  TxnRequest,
  TxnResult,
  Watch,
  WatchEvent,
  WatchHandlers,
  WatchRequest,
} from '../../src/core/etcd/port.js';
import { type Clock, sleep, type Timer } from '../../src/core/model/clock.js';
import { LbctlError } from '../../src/core/model/errors.js';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

interface StoredLease {
  readonly ttl: number;
  expiresAt: number;
  timer: Timer;
}

/**
 * The port to etcd, for real but in memory: revisions, transactions, leases on a clock that the test moves, watches that
 * resume. Several clients of one store are several processes. Faults are switches on the store.
 */
export class MemoryStore {
  readonly clock: Clock;
  kvs = new Map<string, KeyValue>();
  revision = 1n;
  compacted = 0n;
  history: { revision: bigint; events: WatchEvent[] }[] = [];
  leases = new Map<bigint, StoredLease>();
  watchers = new Set<MemoryWatch>();
  /** `down`: refused at once. `hung`: no answer until the deadline. */
  fault: 'none' | 'down' | 'hung' = 'none';
  /** Keys below these prefixes may be neither read nor written. */
  denied: string[] = [];
  /** So many of the next transactions are applied and their answers lost. */
  loseAnswers = 0;
  #nextLease = 7_587_869_000_000_000_001n;
  clusterId = 1n;
  calls: string[] = [];

  constructor(clock: Clock) {
    this.clock = clock;
  }

  client(): MemoryEtcd {
    return new MemoryEtcd(this);
  }

  header(): Header {
    return { clusterId: this.clusterId, memberId: 1n, revision: this.revision, raftTerm: 2n };
  }

  range({ key, end }: KeyRange): KeyValue[] {
    const inside = (candidate: string) =>
      end === undefined ? candidate === key : candidate >= key && (end === '\0' || candidate < end);
    return [...this.kvs.values()].filter((kv) => inside(kv.key)).sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  newLeaseId(): bigint {
    return this.#nextLease++;
  }

  grant(id: bigint, ttl: number) {
    const timer = this.clock.timer(ttl * 1000, () => this.expire(id));
    this.leases.set(id, { ttl, expiresAt: this.clock.monotonic() + ttl * 1000, timer });
  }

  beat(id: bigint): boolean {
    const lease = this.leases.get(id);
    if (!lease) return false;
    lease.timer.cancel();
    lease.expiresAt = this.clock.monotonic() + lease.ttl * 1000;
    lease.timer = this.clock.timer(lease.ttl * 1000, () => this.expire(id));
    return true;
  }

  /** A server that is away expires nothing: it gives every lease its full TTL when it is back. */
  expire(id: bigint) {
    if (this.fault !== 'none') {
      const lease = this.leases.get(id);
      if (lease) lease.timer = this.clock.timer(1000, () => this.expire(id));
      return;
    }
    this.revoke(id);
  }

  revoke(id: bigint): boolean {
    const lease = this.leases.get(id);
    if (!lease) return false;
    lease.timer.cancel();
    this.leases.delete(id);
    const keys = [...this.kvs.values()].filter((kv) => kv.lease === id).map((kv) => kv.key);
    if (keys.length > 0) this.write(keys.map((key) => ({ delete: { key } })));
    return true;
  }

  /** Puts and deletes as one revision. */
  write(operations: readonly Operation[]): TxnResult['results'] {
    const next = this.revision + 1n;
    const events: WatchEvent[] = [];
    const results = operations.map((operation) => {
      if ('get' in operation) return { kvs: this.range(operation.get), deleted: 0 };
      if ('delete' in operation) {
        const gone = this.range(operation.delete);
        for (const kv of gone) {
          this.kvs.delete(kv.key);
          const empty = {
            ...kv,
            value: Buffer.alloc(0),
            modRevision: next,
            createRevision: 0n,
            version: 0n,
            lease: 0n,
          };
          events.push({ type: 'delete', kv: empty, previous: kv });
        }
        return { kvs: [], deleted: gone.length };
      }
      const previous = this.kvs.get(operation.put) ?? null;
      const lease = operation.ignoreLease ? (previous?.lease ?? 0n) : (operation.lease ?? 0n);
      if (lease !== 0n && !this.leases.has(lease)) throw new LbctlError('LEASE_NOT_FOUND', 'requested lease not found');
      const kv: KeyValue = {
        key: operation.put,
        value: Buffer.from(operation.value),
        createRevision: previous?.createRevision ?? next,
        modRevision: next,
        version: (previous?.version ?? 0n) + 1n,
        lease,
      };
      this.kvs.set(kv.key, kv);
      events.push({ type: 'put', kv, previous });
      return { kvs: [], deleted: 0 };
    });
    if (events.length > 0) {
      this.revision = next;
      this.history.push({ revision: next, events });
      for (const watcher of this.watchers) watcher.wake();
    }
    return results;
  }

  // What an operator with etcdctl does.
  put(key: string, value: string, lease = 0n) {
    this.write([{ put: key, value, lease }]);
  }

  delete(key: string) {
    this.write([{ delete: { key } }]);
  }

  compact(revision = this.revision) {
    this.compacted = revision;
    this.history = this.history.filter((entry) => entry.revision > revision);
  }

  /** An empty store in the place of the old one. */
  wipe() {
    for (const lease of this.leases.values()) lease.timer.cancel();
    this.kvs.clear();
    this.leases.clear();
    this.history = [];
    this.revision = 1n;
    this.compacted = 0n;
    this.clusterId += 1n;
    for (const watcher of this.watchers) watcher.wiped = true;
    this.set('none');
  }

  set(fault: MemoryStore['fault']) {
    this.fault = fault;
    for (const watcher of this.watchers) watcher.wake();
  }

  get(key: string): KeyValue | undefined {
    return this.kvs.get(key);
  }

  keys(prefix = ''): string[] {
    return [...this.kvs.keys()].filter((key) => key.startsWith(prefix)).sort();
  }

  holds(compare: Compare): boolean {
    const kv = this.kvs.get(compare.key);
    if (compare.target === 'value') {
      const same = kv?.value.equals(Buffer.from(compare.value)) === true;
      return kv !== undefined && (compare.is === '=' ? same : !same);
    }
    const fields = { mod: kv?.modRevision, create: kv?.createRevision, version: kv?.version, lease: kv?.lease };
    const actual = fields[compare.target] ?? 0n;
    const { value } = compare;
    return { '=': actual === value, '!=': actual !== value, '<': actual < value, '>': actual > value }[compare.is];
  }

  check(keys: readonly string[]) {
    if (keys.some((key) => this.denied.some((prefix) => key.startsWith(prefix)))) {
      throw new LbctlError('ETCD_PERMISSION_DENIED', 'permission denied');
    }
  }
}

class MemoryWatch implements Watch {
  wiped = false;
  #open = true;
  #stale = false;
  #proved = false;
  #scheduled = false;
  readonly #next: bigint[];
  readonly #deniedRanges = new Set<number>();

  constructor(
    readonly store: MemoryStore,
    readonly request: WatchRequest,
    readonly handlers: WatchHandlers,
  ) {
    this.#next = request.ranges.map(() => request.afterRevision + 1n);
    store.watchers.add(this);
    this.wake();
  }

  wake() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#deliver();
    });
  }

  #deliver() {
    if (!this.#open) return;
    if (this.store.fault !== 'none') {
      if (!this.#stale) this.handlers.stale('connection lost');
      this.#stale = true;
      return;
    }
    if (this.#stale || !this.#proved) this.handlers.live();
    this.#stale = false;
    this.#proved = true;
    if (this.wiped) return this.#lost('wiped');
    for (const [index, range] of this.request.ranges.entries()) {
      if (!this.#open || this.#deniedRanges.has(index)) continue;
      const from = this.#next[index] ?? 0n;
      if (from <= this.store.compacted) return this.#lost('compacted');
      if (this.store.denied.some((prefix) => range.key.startsWith(prefix))) {
        this.#deniedRanges.add(index);
        this.handlers.denied(index, new LbctlError('ETCD_PERMISSION_DENIED', 'permission denied'));
        continue;
      }
      const inside = (key: string) =>
        range.end === undefined ? key === range.key : key >= range.key && key < range.end;
      const events = this.store.history
        .filter((entry) => entry.revision >= from)
        .flatMap((entry) => entry.events.filter((event) => inside(event.kv.key)));
      this.#next[index] = this.store.revision + 1n;
      if (events.length > 0) this.handlers.events(events, this.store.revision, index);
    }
  }

  #lost(reason: 'compacted' | 'wiped') {
    void this.close();
    this.handlers.lost(reason, reason);
  }

  close() {
    this.#open = false;
    this.store.watchers.delete(this);
    return Promise.resolve();
  }
}

export class MemoryEtcd implements Etcd {
  readonly endpoints = ['memory:2379'];
  readonly #held = new Set<{ stop(): void }>();

  constructor(readonly store: MemoryStore) {}

  async #call(what: string, options: CallOptions = {}): Promise<void> {
    this.store.calls.push(what);
    await turn();
    if (options.signal?.aborted) throw new LbctlError('ETCD_TIMEOUT', 'aborted');
    if (this.store.fault === 'down') throw new LbctlError('ETCD_UNREACHABLE', 'connection refused');
    if (this.store.fault === 'hung') {
      await sleep(this.store.clock, options.timeoutMs ?? 3000, options.signal);
      throw new LbctlError('ETCD_TIMEOUT', 'no answer');
    }
  }

  async list(range: KeyRange, options: CallOptions = {}): Promise<Listing> {
    await this.#call(`list ${range.key}`, options);
    this.store.check([range.key]);
    return { header: this.store.header(), kvs: this.store.range(range) };
  }

  async txn(request: TxnRequest, options: CallOptions & { idempotent?: boolean } = {}): Promise<TxnResult> {
    await this.#call('txn', options);
    const operations = [...request.success, ...(request.failure ?? [])];
    const keyOf = (o: Operation) => ('put' in o ? o.put : 'delete' in o ? o.delete.key : o.get.key);
    this.store.check([...operations.map(keyOf), ...(request.compare ?? []).map((compare) => compare.key)]);
    const written = request.success.filter((o) => !('get' in o)).map(keyOf);
    if (new Set(written).size !== written.length)
      throw new LbctlError('ETCD_REJECTED', 'duplicate key given in txn request');
    if (Math.max(request.compare?.length ?? 0, request.success.length) > 128)
      throw new LbctlError('ETCD_REJECTED', 'too many operations in txn request');
    const succeeded = (request.compare ?? []).every((compare) => this.store.holds(compare));
    const results = this.store.write(succeeded ? request.success : (request.failure ?? []));
    if (this.store.loseAnswers > 0) {
      this.store.loseAnswers--;
      if (options.idempotent) return this.txn(request, options);
      throw new LbctlError('ETCD_OUTCOME_UNKNOWN', 'the answer was lost');
    }
    return { succeeded, header: this.store.header(), results };
  }

  async holdLease(ttlSeconds: number, handlers: LeaseHandlers, options: CallOptions = {}): Promise<HeldLease> {
    const { store } = this;
    const { clock } = store;
    await this.#call('grant', options);
    const id = store.newLeaseId();
    store.grant(id, ttlSeconds);
    let goodUntil = clock.monotonic() + ttlSeconds * 1000;
    let timer: Timer | null = null;
    const stop = () => {
      timer?.cancel();
      timer = null;
      this.#held.delete(holder);
    };
    const holder = { stop };
    this.#held.add(holder);
    const lose = (reason: string) => {
      stop();
      handlers.lost(reason);
    };
    const beat = () => {
      if (store.fault === 'none') {
        if (!store.beat(id)) return lose('lease not found');
        goodUntil = clock.monotonic() + ttlSeconds * 1000;
      } else if (clock.monotonic() >= goodUntil) {
        return lose('no beat got through for one TTL');
      }
      const wait = store.fault === 'none' ? (ttlSeconds * 1000) / 3 : 200;
      timer = clock.timer(Math.min(wait, Math.max(1, goodUntil - clock.monotonic())), beat);
    };
    timer = clock.timer((ttlSeconds * 1000) / 3, beat);
    return {
      id,
      ttlSeconds,
      revoke: (revokeOptions) => {
        stop();
        return this.revokeLease(id, { timeoutMs: 2000, ...revokeOptions });
      },
      abandon: stop,
    };
  }

  async grantLease(ttlSeconds: number, options: CallOptions = {}): Promise<bigint> {
    await this.#call('grant', options);
    const id = this.store.newLeaseId();
    this.store.grant(id, ttlSeconds);
    return id;
  }

  async revokeLease(id: bigint, options: CallOptions = {}): Promise<void> {
    await this.#call('revoke', options);
    this.store.revoke(id);
  }

  async leaseInfo(id: bigint, options: CallOptions = {}): Promise<LeaseInfo> {
    await this.#call('lease', options);
    const lease = this.store.leases.get(id);
    if (!lease) return { remainingSeconds: -1, grantedSeconds: 0, keys: [] };
    const keys = [...this.store.kvs.values()].filter((kv) => kv.lease === id).map((kv) => kv.key);
    return {
      remainingSeconds: Math.ceil((lease.expiresAt - this.store.clock.monotonic()) / 1000),
      grantedSeconds: lease.ttl,
      keys,
    };
  }

  watch(request: WatchRequest, handlers: WatchHandlers): Watch {
    return new MemoryWatch(this.store, request, handlers);
  }

  async status() {
    await this.#call('status');
    return [{ endpoint: 'memory:2379', version: '3.4.23', dbSizeBytes: 0, isLeader: true }];
  }

  /** As when the process is killed: nobody beats any more, nothing is revoked. */
  die() {
    for (const holder of [...this.#held]) holder.stop();
  }

  close() {
    this.die();
    return Promise.resolve();
  }
}
