import { sleep } from '../model/clock.js';
import { isLbctlError } from '../model/errors.js';
import type { Core } from './core.js';
import { beatOnce } from './lease-beat.js';
import { beatTimeoutMs, type LeaseTiming, nextBeat, randomLeaseId } from './lease-plan.js';
import type { CallOptions, HeldLease, LeaseHandlers, LeaseInfo } from './port.js';
import { leaseTimeToLive } from './reads.js';
import type { UnaryRunner } from './unary.js';

interface Granted {
  readonly id: bigint;
  readonly ttlSeconds: number;
  /** Monotonic ms at which the first request for it was sent: it cannot expire before that plus its TTL. */
  readonly sentAt: number;
}

/** Grants a lease whose id is chosen here, so that a repeat after a lost answer is recognised as success. */
export async function grant(core: Core, ttlSeconds: number, options: CallOptions): Promise<Granted> {
  const rest = core.unary.budget(options);
  for (;;) {
    const id = randomLeaseId(core.rng);
    let sentAt: number | null = null;
    let attempts = 0;
    try {
      const response = await core.unary.call(
        {
          what: `grant a lease of ${ttlSeconds}s`,
          repeat: 'safe',
          run: async (link, callOptions) => {
            const client = await link.etcd3();
            sentAt ??= core.clock.monotonic();
            attempts++;
            return client.leaseClient.leaseGrant({ ID: String(id), TTL: String(ttlSeconds) }, callOptions);
          },
        },
        rest(),
      );
      return { id, ttlSeconds: Number(response.TTL), sentAt: sentAt ?? core.clock.monotonic() };
    } catch (error) {
      if (!isLbctlError(error, 'LEASE_EXISTS')) throw error;
      // Ours, from an attempt whose answer was lost. Its TTL is at least what was asked for.
      if (attempts > 1) return { id, ttlSeconds, sentAt: sentAt ?? core.clock.monotonic() };
    }
  }
}

/** A lease that is gone already counts as revoked. */
export async function revoke(unary: UnaryRunner, id: bigint, options: CallOptions): Promise<void> {
  try {
    await unary.call(
      {
        what: `revoke lease ${id}`,
        repeat: 'safe',
        run: async (link, callOptions) => (await link.etcd3()).leaseClient.leaseRevoke({ ID: String(id) }, callOptions),
      },
      options,
    );
  } catch (error) {
    if (!isLbctlError(error, 'LEASE_NOT_FOUND')) throw error;
  }
}

export function leaseInfo(unary: UnaryRunner, id: bigint, options: CallOptions): Promise<LeaseInfo> {
  return unary.call(
    {
      what: `read lease ${id}`,
      repeat: 'safe',
      run: (link, callOptions) => link.read(leaseTimeToLive, id, callOptions),
    },
    options,
  );
}

/** Keeps a granted lease alive. `onStop` is called once, when it beats no more. */
export class BeatingLease implements HeldLease {
  readonly id: bigint;
  readonly ttlSeconds: number;
  readonly #core: Core;
  readonly #handlers: LeaseHandlers;
  readonly #onStop: () => void;
  readonly #stopped = new AbortController();
  #timing: LeaseTiming;

  constructor(core: Core, granted: Granted, handlers: LeaseHandlers, onStop: () => void) {
    this.id = granted.id;
    this.ttlSeconds = granted.ttlSeconds;
    this.#core = core;
    this.#handlers = handlers;
    this.#onStop = onStop;
    this.#timing = { ttlMs: granted.ttlSeconds * 1000, lastGoodAt: granted.sentAt, lastFailed: false };
    void this.#keep();
  }

  async revoke(options: CallOptions = {}): Promise<void> {
    this.#stop();
    await revoke(this.#core.unary, this.id, { timeoutMs: 2000, ...options });
  }

  abandon(): void {
    this.#stop();
  }

  #stop(): boolean {
    if (this.#stopped.signal.aborted) return false;
    this.#stopped.abort();
    this.#onStop();
    return true;
  }

  #lose(reason: string): void {
    if (this.#stop()) this.#handlers.lost(reason);
  }

  async #keep(): Promise<void> {
    const { clock } = this.#core;
    const { signal } = this.#stopped;
    let trouble = '';
    // A grant that took longer than its TTL is lost at once: the holder gets its lease before it is told.
    await Promise.resolve();
    for (;;) {
      const next = nextBeat(this.#timing, clock.monotonic());
      if (next.lost) return this.#lose(trouble || 'no keep-alive was answered in time');
      await sleep(clock, next.inMs, signal);
      if (signal.aborted) return;
      const now = clock.monotonic();
      if (nextBeat(this.#timing, now).lost) continue;
      let sentAt = now;
      const beat = await beatOnce(this.#core, this.id, beatTimeoutMs(this.#timing, now), signal, () => {
        sentAt = clock.monotonic();
      });
      if (signal.aborted) return;
      if (beat.kind === 'gone') return this.#lose('etcd does not know the lease: it expired or was revoked');
      if (beat.kind === 'alive') {
        const recovered = this.#timing.lastFailed;
        this.#timing = { ...this.#timing, lastGoodAt: sentAt, lastFailed: false };
        trouble = '';
        if (recovered) this.#handlers.recovered?.();
        continue;
      }
      const isFirst = !this.#timing.lastFailed;
      this.#timing = { ...this.#timing, lastFailed: true };
      trouble = beat.reason;
      if (isFirst) this.#handlers.trouble?.(beat.reason);
    }
  }
}
