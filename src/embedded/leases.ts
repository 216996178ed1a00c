import { randomBytes } from 'node:crypto';
import type { Clock, Timer } from '../core/model/clock.js';
import { pointInterval } from './interval.js';
import { refuse } from './refusals.js';
import type { MvccStore } from './store.js';

/** etcd raises every TTL to ceil(1.5 times its election timeout), and refuses more than 285 years. */
const minTtlSeconds = 2;
const maxTtlSeconds = 9_000_000_000;
/** setTimeout fires at once beyond 2^31 - 1 ms: a longer wait is done in legs. */
const longestTimerMs = 2 ** 31 - 1;

interface Lease {
  readonly id: bigint;
  readonly ttlSeconds: number;
  readonly keys: Set<string>;
  expiresAtMs: number;
  timer: Timer;
}

/** Leases and the keys bound to them. A lease that runs out deletes its keys as one revision. */
export class Leases {
  readonly #leases = new Map<bigint, Lease>();
  readonly #store: MvccStore;
  readonly #clock: Clock;

  constructor(store: MvccStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    store.onCommit((changes) => {
      for (const { entry, previous } of changes) {
        if (previous) this.#leases.get(previous.lease)?.keys.delete(entry.key);
        this.#leases.get(entry.lease)?.keys.add(entry.key);
      }
    });
  }

  /** `id` 0n: one is chosen. Answers what was really granted. */
  grant(id: bigint, ttlSeconds: number): { id: bigint; ttlSeconds: number } {
    if (ttlSeconds > maxTtlSeconds) throw refuse.leaseTtlTooLarge();
    const granted = id === 0n ? this.#freeId() : id;
    if (this.#leases.has(granted)) throw refuse.leaseExists();
    const ttl = Math.max(ttlSeconds, minTtlSeconds);
    const expiresAtMs = this.#clock.monotonic() + ttl * 1000;
    const lease: Lease = { id: granted, ttlSeconds: ttl, keys: new Set(), expiresAtMs, timer: { cancel() {} } };
    this.#leases.set(granted, lease);
    this.#watchExpiry(lease);
    return { id: granted, ttlSeconds: ttl };
  }

  has(id: bigint): boolean {
    return this.#leases.has(id);
  }

  /** Deletes the keys of the lease, in their order, as one revision; none when it has no keys. */
  revoke(id: bigint): void {
    const lease = this.#leases.get(id);
    if (!lease) throw refuse.leaseNotFound();
    lease.timer.cancel();
    this.#leases.delete(id);
    const keys = [...lease.keys].sort();
    this.#store.write((view) => {
      for (const key of keys) view.delete(pointInterval(key));
    });
  }

  /** The TTL that starts anew, in seconds; 0 when there is no such lease. */
  renew(id: bigint): number {
    const lease = this.#leases.get(id);
    if (!lease) return 0;
    // The timer stays: when it fires early it looks at the new expiry and waits on.
    lease.expiresAtMs = this.#clock.monotonic() + lease.ttlSeconds * 1000;
    return lease.ttlSeconds;
  }

  /** Null when there is no such lease. */
  info(id: bigint): { remainingSeconds: number; ttlSeconds: number; keys: string[] } | null {
    const lease = this.#leases.get(id);
    if (!lease) return null;
    const remainingMs = lease.expiresAtMs - this.#clock.monotonic();
    return {
      remainingSeconds: Math.max(0, Math.trunc(remainingMs / 1000)),
      ttlSeconds: lease.ttlSeconds,
      keys: [...lease.keys],
    };
  }

  /** Ids, the next to expire first. */
  list(): bigint[] {
    return [...this.#leases.values()].sort((a, b) => a.expiresAtMs - b.expiresAtMs).map((lease) => lease.id);
  }

  close(): void {
    for (const lease of this.#leases.values()) lease.timer.cancel();
  }

  #watchExpiry(lease: Lease): void {
    const remainingMs = lease.expiresAtMs - this.#clock.monotonic();
    if (remainingMs <= 0) {
      this.revoke(lease.id);
      return;
    }
    // A timer may fire a fraction of a millisecond early; rounding up spares the second leg.
    const legMs = Math.min(Math.ceil(remainingMs), longestTimerMs);
    lease.timer = this.#clock.timer(legMs, () => this.#watchExpiry(lease), { background: true });
  }

  #freeId(): bigint {
    for (;;) {
      const id = randomBytes(8).readBigUInt64BE() & 0x7fff_ffff_ffff_ffffn;
      if (id !== 0n && !this.#leases.has(id)) return id;
    }
  }
}
