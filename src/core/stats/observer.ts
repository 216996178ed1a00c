import { checkServiceName } from '../dialects/layout.js';
import { OverlayKeys } from '../discovery/overlay.js';
import { type DiscoveryPorts, systemPorts, unstableMs } from '../discovery/ports.js';
import type { Etcd, HeldLease } from '../etcd/port.js';
import { thisProcess } from '../host/this-process.js';
import { sleep } from '../model/clock.js';
import { isLbctlError, LbctlError } from '../model/errors.js';
import { encodeObserver } from './observer-record.js';

/** What an observer tells of its program. */
export interface ObserverOptions {
  /** The balancing policy, for people. */
  readonly policy: string;
  /** Name of this client, for people; several may have the same. Default: the machine's name and the process id. */
  readonly client?: string;
  /**
   * The last revision of etcd whose instances calls are spread over: no call starts any more on what had left by then
   * (int64). With a Subscriber: its `revision`, once the balancer has got its instances.
   */
  readonly applied: () => bigint;
  /** Calls in flight on addresses that are not in rotation any more, by address. Those of 0 are left out. */
  readonly inFlight: () => ReadonlyMap<string, number>;
  /** `host:port` at which the client's statistics are served, for the record; empty or absent: nowhere. */
  readonly statistics?: () => string;
  /** Prefix of lbctl's own records. Default `lbctl/v1/`. */
  readonly overlayRoot?: string;
  /** Told once, when this user may not write the record: the observer has ended then. */
  readonly onWarning?: (warning: string) => void;
}

/** One that dies without a word holds up a drain for this long. */
const ttlSeconds = 10;
/** Every client of a service has something to tell at the same moment. */
const leastIntervalMs = 1000;
const staggerMs = 200;
const coolDownMs = 1000;
const coolDownDeviation = 0.05;
/** It may be the last thing that holds the process. */
const revokeMs = 1000;
const idLength = 6;

/**
 * Publishes what this client has applied of a service's changes, so that whoever takes an instance out sees when no call
 * goes there any more. The record is on a lease: it goes with the process, and comes back after an outage of etcd. Nothing
 * that happens to it disturbs the program.
 */
export class Observer {
  /** The last part of the record's key; no two observers have the same. */
  readonly id: string;
  /** The client's name, for people. */
  readonly client: string;
  readonly #etcd: Etcd;
  readonly #options: ObserverOptions;
  readonly #ports: DiscoveryPorts;
  readonly #key: string;
  readonly #closing = new AbortController();
  #running: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;
  #lease: HeldLease | null = null;
  #everHeld = false;
  /** What the record holds on this lease, as far as we know. */
  #written = '';
  #writtenAt = Number.NEGATIVE_INFINITY;
  #hasChanged = true;
  #wake = () => {};

  /** @throws USAGE for a service name that cannot be. */
  constructor(etcd: Etcd, service: string, options: ObserverOptions, ports: DiscoveryPorts = systemPorts) {
    checkServiceName(service);
    const { host, pid } = thisProcess();
    this.#etcd = etcd;
    this.#options = options;
    this.#ports = ports;
    this.client = options.client ?? `${host}-${pid}`;
    const suffix = Math.floor(ports.rng() * 36 ** idLength).toString(36);
    this.id = `${this.client}-${suffix.padStart(idLength, '0')}`;
    this.#key = new OverlayKeys(options.overlayRoot).observer(service, this.id);
  }

  /** Writes the record, and keeps it current from now on. Never throws and never waits. */
  start(): void {
    if (!this.#closing.signal.aborted) this.#running ??= this.#run();
  }

  /**
   * Something that the record tells has changed. It is written at once, or one second after the last write; what has
   * not changed after all is not.
   */
  changed(): void {
    this.#hasChanged = true;
    this.#wake();
  }

  /** Takes the record away. When etcd does not answer within a second, its lease runs out by itself. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  async #end(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    await this.#running;
    await this.#release();
  }

  async #run(): Promise<void> {
    const { clock, rng } = this.#ports;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      if (!this.#hasChanged) await new Promise<void>((resolve) => (this.#wake = resolve));
      const waitMs = this.#writtenAt + leastIntervalMs - clock.monotonic();
      if (waitMs > 0) await sleep(clock, waitMs, signal);
      if (signal.aborted) return;
      try {
        await this.#write();
      } catch (error) {
        if (isLbctlError(error, 'ETCD_PERMISSION_DENIED')) return this.#giveUp();
        this.#hasChanged = true;
        // A lease that is gone is no failure of etcd's: a wait of its own comes before the next one.
        if (isLbctlError(error, 'LEASE_NOT_FOUND', 'LEASE_LOST')) this.#dropLease();
        else await sleep(clock, unstableMs(coolDownMs, coolDownDeviation, rng), signal);
      }
    }
  }

  async #write(): Promise<void> {
    const { signal } = this.#closing;
    const lease = this.#lease ?? (await this.#hold());
    this.#hasChanged = false;
    const value = this.#value();
    if (value === this.#written || signal.aborted) return;
    try {
      const put = { put: this.#key, value, lease: lease.id };
      await this.#etcd.txn({ success: [put] }, { idempotent: true, signal });
      if (this.#lease === lease) this.#written = value;
    } finally {
      this.#writtenAt = this.#ports.clock.monotonic();
    }
  }

  async #hold(): Promise<HeldLease> {
    const { clock, rng } = this.#ports;
    const { signal } = this.#closing;
    // Many that lost theirs at the same moment do not come back in step.
    if (this.#everHeld) await sleep(clock, rng() * staggerMs, signal);
    let isLost = false;
    let mine: HeldLease | null = null;
    const lost = () => {
      isLost = true;
      if (mine === null || this.#lease !== mine) return;
      this.#dropLease();
      this.changed();
    };
    const lease = await this.#etcd.holdLease(ttlSeconds, { lost }, { signal });
    if (isLost) throw new LbctlError('LEASE_LOST', 'The lease ran out while it was granted');
    mine = lease;
    this.#lease = lease;
    this.#everHeld = true;
    return lease;
  }

  #value(): string {
    const { policy, applied, inFlight, statistics } = this.#options;
    const calls = [...inFlight()].filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1));
    return encodeObserver({
      ...thisProcess(),
      client: this.client,
      policy,
      revision: applied(),
      inFlight: new Map(calls),
      statistics: statistics?.() ?? '',
    });
  }

  #dropLease(): void {
    this.#lease?.abandon();
    this.#lease = null;
    this.#written = '';
  }

  async #release(): Promise<void> {
    const lease = this.#lease;
    this.#lease = null;
    await lease?.revoke({ timeoutMs: revokeMs }).catch(() => {});
  }

  async #giveUp(): Promise<void> {
    await this.#release();
    this.#options.onWarning?.(
      `This etcd user may not write ${this.#key}: drains will not see this client. It works as before otherwise.`,
    );
  }
}
