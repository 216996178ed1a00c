import { parseRecord } from '../../discovery/overlay.js';
import { backOffMs, type DiscoveryPorts } from '../../discovery/ports.js';
import { repeatableTxn } from '../../discovery/txn.js';
import type { CallOptions, Compare, Etcd, HeldLease, KeyValue } from '../../etcd/port.js';
import { sleep } from '../../model/clock.js';
import { isLbctlError, LbctlError } from '../../model/errors.js';

/** Who holds a claim, for others to see. */
export interface Holder {
  /** `user@host`. */
  readonly by: string;
  readonly host: string;
  readonly pid: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly command: readonly string[];
  /** `finished`: it ended well; the claim is free, and stands for one more TTL so that those who wait can see that. */
  readonly state: 'running' | 'finished';
}

/** A claim as somebody else's: who, and the revision at which it last changed. */
export interface HeldBy {
  readonly holder: Holder;
  readonly modRevision: bigint;
  readonly lease: bigint;
}

/** A claim of ours. */
export interface Claim {
  /** Of the lease that it stands on now. */
  readonly lease: bigint;
  /** Aborted with LEASE_LOST when an outage was longer than the lease and somebody else has it now. */
  readonly lost: AbortSignal;
  /** Ends it, saying that what it was for is done. Never rejects: it ends by itself within one TTL. */
  finish(): Promise<void>;
  /** Ends it. Never rejects. */
  release(): Promise<void>;
}

/** How long a claim outlives a process that was killed. */
export const claimTtlSeconds = 5;
const endWithinMs = 2000;

/** Takes the claim at `key`, or says who has it. Costs a lease: `readClaim` first. @throws ETCD_* */
export async function takeClaim(
  etcd: Etcd,
  key: string,
  holder: Holder,
  ports: DiscoveryPorts,
  call: CallOptions = {},
): Promise<Claim | HeldBy> {
  const claim = new LeasedClaim(etcd, key, holder, ports);
  return (await claim.take(call)) ?? claim;
}

/** @throws ETCD_* */
export async function readClaim(etcd: Etcd, key: string, call: CallOptions = {}): Promise<HeldBy | null> {
  return heldBy((await etcd.list({ key }, call)).kvs[0]);
}

export function isClaim<Other extends object>(taken: Claim | Other): taken is Claim {
  return 'lost' in taken;
}

class LeasedClaim implements Claim {
  readonly #etcd: Etcd;
  readonly #key: string;
  readonly #holder: Holder;
  readonly #ports: DiscoveryPorts;
  readonly #lost = new AbortController();
  readonly #ending = new AbortController();
  #held: HeldLease | null = null;

  constructor(etcd: Etcd, key: string, holder: Holder, ports: DiscoveryPorts) {
    this.#etcd = etcd;
    this.#key = key;
    this.#holder = holder;
    this.#ports = ports;
  }

  get lease(): bigint {
    return this.#held?.id ?? 0n;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Null: it is ours. Somebody's who has finished is free. */
  async take(call: CallOptions): Promise<HeldBy | null> {
    const held = await this.#etcd.holdLease(claimTtlSeconds, { lost: () => void this.#takeAgain() }, call);
    const value = JSON.stringify(this.#holder);
    let unchanged: Compare = { key: this.#key, target: 'create', is: '=', value: 0n };
    try {
      for (;;) {
        const put = { put: this.#key, value, lease: held.id };
        const result = await repeatableTxn(this.#etcd, [unchanged], [put], [{ get: { key: this.#key } }], call);
        const there = result.results[0]?.kvs[0];
        if (result.succeeded || there?.lease === held.id) {
          this.#held = held;
          return null;
        }
        const other = heldBy(there);
        // What we lost may stand for a while: a lease ends here at the latest when it does there.
        const isOurs = this.#held !== null && other?.lease === this.#held.id;
        if (other?.holder.state === 'running' && !isOurs) {
          await held.revoke().catch(() => {});
          return other;
        }
        unchanged = { key: this.#key, target: 'mod', is: '=', value: there?.modRevision ?? 0n };
      }
    } catch (error) {
      // Whether it was written or not: it goes with its lease.
      await held.revoke().catch(() => {});
      throw error;
    }
  }

  /** An outage was longer than the lease: whoever came meanwhile has it now. */
  async #takeAgain(): Promise<void> {
    for (let attempt = 0; !this.#ending.signal.aborted; attempt++) {
      try {
        const other = await this.take({ signal: this.#ending.signal });
        if (other) this.#lost.abort(lostTo(other));
        // Ended while the answer was on its way.
        else if (this.#ending.signal.aborted) await this.release();
        return;
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        if (isLbctlError(error, 'ETCD_PERMISSION_DENIED')) return this.#lost.abort(error);
        await sleep(this.#ports.clock, backOffMs(attempt, this.#ports.rng), this.#ending.signal);
      }
    }
  }

  async finish(): Promise<void> {
    const held = this.#held;
    this.#ending.abort();
    if (!held) return;
    this.#held = null;
    const value = JSON.stringify({ ...this.#holder, state: 'finished' });
    const mine: Compare = { key: this.#key, target: 'lease', is: '=', value: held.id };
    const put = { put: this.#key, value, lease: held.id };
    await repeatableTxn(this.#etcd, [mine], [put], [], { timeoutMs: endWithinMs }).catch(() => {});
    held.abandon();
  }

  async release(): Promise<void> {
    const held = this.#held;
    this.#ending.abort();
    this.#held = null;
    await held?.revoke({ timeoutMs: endWithinMs }).catch(() => {});
  }
}

function lostTo({ holder }: HeldBy): LbctlError {
  return new LbctlError(
    'LEASE_LOST',
    `etcd was away for longer than ${claimTtlSeconds} s, and ${describeHolder(holder)} took over meanwhile`,
    { suggestions: ['Let it finish: it does the same.'] },
  );
}

/** `ann@build-7 (process 4711 on build-7, since 2026-01-02T03:04:05.000Z)`. */
export function describeHolder({ by, host, pid, startedAt }: Holder): string {
  return `${by} (process ${pid} on ${host}, since ${startedAt})`;
}

function heldBy(kv: KeyValue | undefined): HeldBy | null {
  if (!kv) return null;
  const { modRevision, lease } = kv;
  return { holder: decodeHolder(kv.value), modRevision, lease };
}

/** What is no holder of ours holds the key all the same: nobody knows what for. */
function decodeHolder(value: Buffer): Holder {
  const text = (field: unknown) => (typeof field === 'string' ? field : '?');
  const fields = parseRecord(value) ?? {};
  return {
    by: text(fields.by),
    host: text(fields.host),
    pid: typeof fields.pid === 'number' ? fields.pid : 0,
    startedAt: text(fields.startedAt),
    command: Array.isArray(fields.command) ? fields.command.map(String) : [],
    state: fields.state === 'finished' ? 'finished' : 'running',
  };
}
