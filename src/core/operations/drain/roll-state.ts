import { OverlayKeys, parseRecord } from '../../discovery/overlay.js';
import { repeatableTxn } from '../../discovery/txn.js';
import type { CallOptions, Compare, Etcd, Operation } from '../../etcd/port.js';
import { LbctlError } from '../../model/errors.js';

/** How far a roll has come; it outlives the process, so that the same command line goes on. */
export interface RollState {
  readonly command: readonly string[];
  /** Who began it. */
  readonly by: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Addresses that are done. */
  readonly done: readonly string[];
}

/** The record in etcd, written under the lock alone. */
export class RollRecord {
  readonly #etcd: Etcd;
  readonly #key: string;
  readonly #lockKey: string;
  readonly #service: string;

  constructor(etcd: Etcd, service: string, overlayRoot: string | undefined) {
    const keys = new OverlayKeys(overlayRoot);
    this.#etcd = etcd;
    this.#service = service;
    this.#key = keys.rollState(service);
    this.#lockKey = keys.rollLock(service);
  }

  /** Null: none is unfinished. @throws ETCD_* */
  async read(call: CallOptions): Promise<RollState | null> {
    const kv = (await this.#etcd.list({ key: this.#key }, call)).kvs[0];
    return kv ? decode(kv.value) : null;
  }

  /** @throws LEASE_LOST when the lock is not on this lease any more; ETCD_* */
  write(state: RollState, lockLease: bigint, call: CallOptions): Promise<void> {
    return this.#commit({ put: this.#key, value: JSON.stringify(state) }, lockLease, call);
  }

  /** It came to its end. @throws as `write` */
  remove(lockLease: bigint, call: CallOptions): Promise<void> {
    return this.#commit({ delete: { key: this.#key } }, lockLease, call);
  }

  async #commit(operation: Operation, lease: bigint, call: CallOptions): Promise<void> {
    const locked: Compare = { key: this.#lockKey, target: 'lease', is: '=', value: lease };
    const { succeeded } = await repeatableTxn(this.#etcd, [locked], [operation], [], call);
    if (succeeded) return;
    throw new LbctlError('LEASE_LOST', `The lock of the roll of ${this.#service} was lost to an outage of etcd`, {
      suggestions: ['The same command line goes on with what is left.'],
    });
  }
}

/** What is none of ours counts as nothing done. */
function decode(value: Buffer): RollState {
  const fields = parseRecord(value) ?? {};
  const words = (field: unknown) => (Array.isArray(field) ? field.map(String) : []);
  return {
    command: words(fields.command),
    by: String(fields.by ?? '?'),
    startedAt: String(fields.startedAt ?? '?'),
    done: words(fields.done),
  };
}

/** @throws GUARD_REFUSED when the unfinished roll is of another command. */
export function checkSameRoll(
  service: string,
  { command, by, startedAt, done }: RollState,
  asked: readonly string[],
): void {
  if (JSON.stringify(command) === JSON.stringify(asked)) return;
  throw new LbctlError(
    'GUARD_REFUSED',
    `A roll of ${service} with another command is unfinished: ${command.join(' ')} (${by}, since ${startedAt}, ${done.length} done)`,
    { suggestions: ['That command line goes on with it.', '--restart forgets it and begins this one.'] },
  );
}
