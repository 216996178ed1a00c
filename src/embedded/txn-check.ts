import { contains, type Interval, intervalOf, keyText } from './interval.js';
import { checkDelete, checkPut, checkRange } from './operations.js';
import { refuse } from './refusals.js';
import type { RequestOp, TxnRequest } from './wire.js';

export const maxTxnOperations = 128;

/**
 * What is wrong with a transaction whatever the store holds (etcd server/etcdserver/api/v3rpc/key.go).
 * @throws EtcdRefusal
 */
export function checkTxn(request: TxnRequest): void {
  checkOperations(request, maxTxnOperations);
  checkOverlaps(request.success);
  checkOverlaps(request.failure);
}

/** Nested transactions share the budget of the one around them. */
function checkOperations(request: TxnRequest, budget: number): void {
  const used = Math.max(request.compare.length, request.success.length, request.failure.length);
  if (used > budget) throw refuse.tooManyOperations();
  for (const compare of request.compare) if (compare.key.length === 0) throw refuse.emptyKey();
  for (const operation of [...request.success, ...request.failure]) {
    if (operation.request_range) checkRange(operation.request_range);
    else if (operation.request_put) checkPut(operation.request_put);
    else if (operation.request_delete_range) checkDelete(operation.request_delete_range);
    else if (operation.request_txn) checkOperations(operation.request_txn, budget - used);
    else throw refuse.keyNotFound();
  }
}

interface Touched {
  readonly puts: Set<string>;
  readonly deletes: Interval[];
}

/** A key may be put once, and not be put where it is deleted; the two branches of a nested one exclude each other. */
function checkOverlaps(operations: readonly RequestOp[]): Touched {
  const deletes: Interval[] = [];
  const puts = new Set<string>();
  for (const { request_delete_range: deletion } of operations) {
    if (deletion) deletes.push(intervalOf(deletion.key, deletion.range_end));
  }
  const addPut = (key: string, exclusive?: Set<string>) => {
    if (puts.has(key) && !exclusive?.has(key)) throw refuse.duplicateKey();
    if (deletes.some((interval) => contains(interval, key))) throw refuse.duplicateKey();
    puts.add(key);
  };
  for (const { request_txn: nested } of operations) {
    if (!nested) continue;
    const success = checkOverlaps(nested.success);
    const failure = checkOverlaps(nested.failure);
    for (const key of success.puts) addPut(key);
    for (const key of failure.puts) addPut(key, success.puts);
    deletes.push(...success.deletes, ...failure.deletes);
  }
  for (const { request_put: write } of operations) if (write) addPut(keyText(write.key));
  return { puts, deletes };
}
