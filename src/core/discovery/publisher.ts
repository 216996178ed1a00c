import type { Etcd, HeldLease } from '../etcd/port.js';
import { sleep } from '../model/clock.js';
import { isLbctlError, LbctlError, messageOf } from '../model/errors.js';
import { Follower } from './follow.js';
import { decodePause, OverlayKeys } from './overlay.js';
import { followWritten } from './own-keys.js';
import { type DiscoveryPorts, systemPorts, unstableMs } from './ports.js';
import {
  type Effect,
  initialMachine,
  type Machine,
  type PublisherEvent,
  type PublisherState,
  publicState,
  sameTarget,
  step,
  type Target,
  wanted,
} from './publisher-machine.js';
import { draftOf, type PublisherOptions } from './publisher-options.js';
import { type Draft, placeOf, type Written, writeRegistration } from './registration.js';

/** What a publisher tells of itself when it changes. */
export interface PublisherChange {
  /** Where it is now. */
  readonly state: PublisherState;
  /** What led to it, for people; may be empty. */
  readonly reason: string;
  /** The instance key, while it is (or was last) registered. */
  readonly key: string;
  /** 0n when no lease is held. */
  readonly lease: bigint;
}

/** How a publisher ended. */
export interface Released {
  /** False: etcd did not answer in time, and the lease runs out by itself. */
  readonly released: boolean;
}

const staggerMs = 200;
const coolDownMs = 1000;
const coolDownDeviation = 0.05;
const revokeMs = 2000;
const revokeAgainMs = 200;

/**
 * Keeps one instance registered until it is stopped: through lost leases, deleted keys, outages and wipes, and out of
 * rotation while a pause record for its address exists.
 */
export class Publisher {
  readonly #etcd: Etcd;
  readonly #ports: DiscoveryPorts;
  readonly #draft: Draft & { readonly ttlSeconds: number };
  readonly #listeners = new Set<(change: PublisherChange) => void>();
  readonly #warnings = new Set<(warning: string) => void>();
  readonly #pauses: Follower;
  #machine: Machine = initialMachine;
  #told: PublisherState | null = null;
  #lease: HeldLease | null = null;
  #written: Written | null = null;
  /** Leases that may still stand in etcd: replaced, lost, or of an answer that never came. */
  #previous: Written[] = [];
  #own: Follower | null = null;
  #call = new AbortController();
  readonly #cleaning = new AbortController();
  #starting = false;
  #everHeld = false;
  #reason = '';
  #error: LbctlError | null = null;
  #waiters: { readonly test: () => boolean; readonly resolve: () => void }[] = [];

  /** @throws USAGE for anything that cannot be registered. */
  constructor(etcd: Etcd, options: PublisherOptions, ports: DiscoveryPorts = systemPorts) {
    this.#etcd = etcd;
    this.#ports = ports;
    this.#draft = draftOf(options);
    const key = new OverlayKeys(options.overlayRoot).pause(options.service, options.address);
    this.#pauses = new Follower(
      etcd,
      { ranges: [{ key }], needed: [0] },
      {
        batch: ({ changes }) => {
          const last = changes.at(-1);
          if (!last) return;
          const record = last.kv && decodePause(last.kv.value);
          if (!last.kv || !record) return this.#dispatch({ type: 'pause-record', revision: null }, 'resumed');
          const why = [`paused by ${record.by}`, record.reason].filter((text) => text !== '').join(': ');
          this.#dispatch({ type: 'pause-record', revision: last.kv.modRevision }, why);
        },
        stale: () => {},
        live: () => {},
      },
      ports,
    );
  }

  /** Where it is now. */
  get state(): PublisherState {
    return publicState(this.#machine);
  }

  /** The instance key that is registered now, or was last; empty before the first registration. */
  get key(): string {
    return this.#written?.key ?? '';
  }

  /** The lease it holds (int64), 0n when it holds none. */
  get leaseId(): bigint {
    return this.#lease?.id ?? 0n;
  }

  /** Why it ended by itself; null while it runs and after `stop()`. */
  get error(): LbctlError | null {
    return this.#error;
  }

  /** Every change of state from now on. Returns how to stop it. */
  onState(listener: (change: PublisherChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** What does not work and does not stop it. Returns how to stop it. */
  onWarning(listener: (warning: string) => void): () => void {
    this.#warnings.add(listener);
    return () => void this.#warnings.delete(listener);
  }

  /**
   * Resolves once it is registered, or paused by a record that was there already. Only this first attempt fails;
   * afterwards it tries until it is stopped.
   * @throws WRITE_CONFLICT when the id belongs to somebody else; ETCD_*.
   */
  async start(): Promise<void> {
    if (this.#starting) throw new LbctlError('USAGE', 'This publisher was started before; make a new one');
    this.#starting = true;
    try {
      await this.#pauses.start();
    } catch (error) {
      if (!isLbctlError(error, 'ETCD_PERMISSION_DENIED')) {
        this.#end();
        throw error;
      }
      this.#warn('This etcd user may not read lbctl pause records: lbctl pause will not reach this instance.');
    }
    this.#dispatch({ type: 'start' }, '');
    await this.#until(() => this.#machine.held !== null || this.#machine.ended || this.#error !== null);
    if (!this.#error) return;
    await this.stop();
    throw this.#error;
  }

  /**
   * Takes it out of rotation from within its process; the process goes on being listed as paused. Resolves when that is
   * so, or somebody wished otherwise meanwhile. A second call changes the reason.
   */
  async pause(reason = 'paused by its process'): Promise<void> {
    this.#dispatch({ type: 'withdraw', reason }, reason);
    await this.#settled();
  }

  /** Takes back `pause()`. A pause record of an operator stays in force. Resolves as `pause()` does. */
  async resume(): Promise<void> {
    this.#dispatch({ type: 'withdraw', reason: null }, 'resumed');
    await this.#settled();
  }

  /** Resolves when it has ended, by `stop()` or by itself (`error` says why). */
  async ended(): Promise<void> {
    await this.#until(() => this.#machine.ended);
  }

  /**
   * Takes the registration out of etcd and ends. When etcd does not answer it is tried again until the TTL has passed,
   * at most for `timeoutMs`.
   * @returns whether nothing of it is left; false: the lease runs out by itself.
   */
  async stop(options: { timeoutMs?: number } = {}): Promise<Released> {
    const timer = this.#ports.clock.timer(options.timeoutMs ?? 3000, () => this.#end());
    this.#dispatch({ type: 'stop' }, 'stopped');
    await this.#until(() => this.#machine.ended);
    timer.cancel();
    await Promise.all([this.#pauses.close(), this.#own?.close()]);
    return { released: this.#lease === null && this.#previous.length === 0 };
  }

  #dispatch(event: PublisherEvent, reason: string): void {
    const [machine, effects] = step(this.#machine, event);
    this.#machine = machine;
    const before = this.#reason;
    if (reason !== '') this.#reason = reason;
    for (const effect of effects) this.#run(effect);
    this.#tell();
    // One failed attempt of several is not why it is registered, or stopped, later on.
    if (event.type === 'failed' && event.next !== 'stop' && this.#reason !== '') this.#reason = before;
    if (this.#machine.ended) this.#end();
    this.#wake();
  }

  #tell(): void {
    const state = this.state;
    if (state === this.#told) return;
    this.#told = state;
    const change = { state, reason: this.#reason, key: this.key, lease: this.leaseId };
    this.#reason = '';
    for (const listener of [...this.#listeners]) listener(change);
  }

  #warn(warning: string): void {
    for (const listener of [...this.#warnings]) listener(warning);
  }

  #run(effect: Effect): void {
    this.#call.abort();
    if (effect.do === 'cancel') return;
    this.#call = new AbortController();
    const { signal } = this.#call;
    if (effect.do === 'wait') {
      const { clock, rng } = this.#ports;
      const ms = effect.how === 'stagger' ? rng() * staggerMs : unstableMs(coolDownMs, coolDownDeviation, rng);
      void sleep(clock, ms, signal).then(() => {
        if (!signal.aborted) this.#dispatch({ type: 'waited' }, '');
      });
      return;
    }
    const work =
      effect.do === 'register'
        ? this.#register(effect.goal, signal)
        : effect.do === 'repair'
          ? this.#repair(effect.goal, signal)
          : this.#release(signal);
    const outcome = effect.do === 'repair' ? 'put back' : '';
    void work.then(
      () => this.#dispatch({ type: 'done' }, outcome),
      (error: unknown) => this.#failed(error),
    );
  }

  #failed(error: unknown): void {
    const conflict = isLbctlError(error, 'WRITE_CONFLICT', 'USAGE');
    const reason = messageOf(error);
    if (conflict || (!this.#everHeld && !this.#machine.stopping)) {
      // The first attempt is somebody's command: they want the error now. Later ones are a service that must come back.
      this.#error = isLbctlError(error) ? error : new LbctlError('INTERNAL', reason, { cause: error });
      this.#dispatch({ type: 'failed', next: 'stop' }, reason);
    } else if (isLbctlError(error, 'LEASE_NOT_FOUND', 'LEASE_LOST')) {
      this.#dropLease();
      this.#dispatch({ type: 'failed', next: 'lease-lost' }, 'its lease is gone');
    } else {
      this.#dispatch({ type: 'failed', next: 'cool-down' }, reason);
    }
  }

  async #register(goal: Target, signal: AbortSignal): Promise<void> {
    const { ttlSeconds } = this.#draft;
    let lost = false;
    let mine: HeldLease | null = null;
    const lease = await this.#etcd.holdLease(
      ttlSeconds,
      {
        lost: (reason) => {
          lost = true;
          if (mine === null || this.#lease !== mine) return;
          this.#dropLease();
          this.#dispatch({ type: 'lease-lost' }, reason);
        },
      },
      { signal },
    );
    mine = lease;
    const older = this.#written && this.#lease ? [...this.#previous, this.#written] : this.#previous;
    const { key, metaKey } = placeOf(this.#draft, lease.id);
    let written: Written;
    try {
      written = await this.#write(lease.id, goal, older, this.#everHeld ? 'again' : 'first', signal);
    } catch (error) {
      // It may stand there all the same: the next registration and `stop` see to it.
      lease.abandon();
      this.#previous.push({ lease: lease.id, key, metaKey });
      throw error;
    }
    if (lost) {
      this.#previous.push(written);
      throw new LbctlError('LEASE_LOST', 'The lease ran out while registering');
    }
    const replaced = this.#lease;
    if (replaced && this.#written) this.#previous.push(this.#written);
    this.#lease = lease;
    this.#written = written;
    this.#everHeld = true;
    replaced?.abandon();
    if (written.metaKey === null)
      this.#warn('This etcd user may not write lbctl records: weight and pauses need them.');
    this.#watchOwn(written, goal);
    void this.#revokePrevious(this.#cleaning.signal);
  }

  async #repair(goal: Target, signal: AbortSignal): Promise<void> {
    const lease = this.#lease;
    if (!lease) throw new LbctlError('LEASE_LOST', 'There is no lease to put it back on');
    const written = await this.#write(lease.id, goal, this.#previous, 'repair', signal);
    if (this.#lease !== lease) throw new LbctlError('LEASE_LOST', 'The lease ran out while putting it back');
    this.#written = written;
  }

  #write(
    lease: bigint,
    goal: Target,
    previous: readonly Written[],
    mode: 'first' | 'again' | 'repair',
    signal: AbortSignal,
  ) {
    const now = new Date(this.#ports.clock.now()).toISOString();
    return writeRegistration(this.#etcd, { draft: this.#draft, lease, goal, previous, mode, now }, { signal });
  }

  #watchOwn(written: Written, goal: Target): void {
    void this.#own?.close();
    const own: Follower | null = followWritten(this.#etcd, written, goal.rotation === 'in', this.#ports, (key) => {
      if (this.#own === own) this.#dispatch({ type: 'damaged' }, `${key} was deleted or replaced`);
    });
    this.#own = own;
  }

  #dropLease(): void {
    this.#lease?.abandon();
    this.#lease = null;
    if (this.#written) this.#previous.push(this.#written);
    const own = this.#own;
    this.#own = null;
    void own?.close();
  }

  async #revokePrevious(signal: AbortSignal): Promise<void> {
    await Promise.all(
      this.#previous.map(async (one) => {
        try {
          await this.#etcd.revokeLease(one.lease, { timeoutMs: revokeMs, signal });
        } catch (error) {
          if (!isLbctlError(error, 'LEASE_NOT_FOUND')) return;
        }
        this.#previous = this.#previous.filter((other) => other !== one);
      }),
    );
  }

  async #release(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    const deadline = clock.monotonic() + this.#draft.ttlSeconds * 1000;
    this.#dropLease();
    for (;;) {
      await this.#revokePrevious(signal);
      if (this.#previous.length === 0 || signal.aborted || clock.monotonic() >= deadline) return;
      await sleep(clock, revokeAgainMs, signal);
    }
  }

  #end(): void {
    this.#machine = { ...this.#machine, ended: true, stopping: true, doing: 'nothing', held: null };
    this.#call.abort();
    this.#cleaning.abort();
    if (this.#lease) this.#dropLease();
    void this.#pauses.close();
    void this.#own?.close();
    this.#tell();
    this.#wake();
  }

  #settled(): Promise<void> {
    const mine = wanted(this.#machine);
    return this.#until(() => {
      const { held, doing, damaged } = this.#machine;
      if (!this.#machine.started || this.#machine.stopping || !sameTarget(wanted(this.#machine), mine)) return true;
      return doing === 'nothing' && !damaged && sameTarget(held, mine);
    });
  }

  #until(test: () => boolean): Promise<void> {
    if (test()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ test, resolve }));
  }

  #wake(): void {
    const ready = this.#waiters.filter((waiter) => waiter.test());
    this.#waiters = this.#waiters.filter((waiter) => !ready.includes(waiter));
    for (const waiter of ready) waiter.resolve();
  }
}
