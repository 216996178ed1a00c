import type { CallOptions, Compare, Etcd, Operation, TxnResult } from '../etcd/port.js';

/**
 * A transaction that means the same when it runs twice: one that only states what should stand there, or whose compares
 * fail the second time and whose `otherwise` shows why.
 */
export function repeatableTxn(
  etcd: Etcd,
  compares: readonly Compare[],
  operations: readonly Operation[],
  otherwise: readonly Operation[],
  call: CallOptions,
): Promise<TxnResult> {
  return etcd.txn({ compare: compares, success: operations, failure: otherwise }, { ...call, idempotent: true });
}
