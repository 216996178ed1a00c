import { intervalOf, keyText, pointInterval } from './interval.js';
import { deleteRange, put, range } from './operations.js';
import { refuse } from './refusals.js';
import type { Entry, MvccStore, ReadView, WriteView } from './store.js';
import type { Compare, PutRequest, RangeRequest, RequestOp, ResponseOp, TxnRequest, TxnResponse } from './wire.js';

/** A transaction whose comparisons, nested ones included, were all made on the state before it. */
interface Plan {
  readonly succeeded: boolean;
  readonly steps: ReadonlyArray<{ readonly operation: RequestOp; readonly nested: Plan | null }>;
}

interface LeaseLookup {
  has(id: bigint): boolean;
}

/**
 * Compares, checks every operation that will run, then runs them as one revision: nothing fails half-way.
 * The request has passed `checkTxn`.
 * @throws EtcdRefusal
 */
export function runTxn(store: MvccStore, leases: LeaseLookup, request: TxnRequest): TxnResponse {
  const plan = decide(store, request);
  checkPlan(store, leases, plan);
  return store.write((view) => {
    const responses = execute(view, plan);
    return { header: { revision: view.revision }, succeeded: plan.succeeded, responses };
  });
}

/** Puts outside a transaction look for their lease before anything else, unlike those inside. */
export function runPut(store: MvccStore, leases: LeaseLookup, request: PutRequest) {
  requireLease(leases, request);
  return store.write((view) => put(view, request));
}

function decide(view: ReadView, request: TxnRequest): Plan {
  const succeeded = request.compare.every((compare) => holds(view, compare));
  const operations = succeeded ? request.success : request.failure;
  return {
    succeeded,
    steps: operations.map((operation) => ({
      operation,
      nested: operation.request_txn ? decide(view, operation.request_txn) : null,
    })),
  };
}

function checkPlan(view: ReadView, leases: LeaseLookup, plan: Plan): void {
  for (const { operation, nested } of plan.steps) {
    if (operation.request_range) checkRevision(view, operation.request_range);
    if (operation.request_put) checkTarget(view, leases, operation.request_put);
    if (nested) checkPlan(view, leases, nested);
  }
}

function checkRevision(view: ReadView, request: RangeRequest): void {
  const revision = Number(request.revision);
  if (revision === 0) return;
  if (revision > view.revision) throw refuse.futureRevision();
  if (revision < view.compactedRevision) throw refuse.compacted();
}

function checkTarget(view: ReadView, leases: LeaseLookup, request: PutRequest): void {
  if (request.ignore_value || request.ignore_lease) {
    if (view.range(pointInterval(keyText(request.key))).length === 0) throw refuse.keyNotFound();
  }
  requireLease(leases, request);
}

function requireLease(leases: LeaseLookup, request: PutRequest): void {
  if (request.lease !== '0' && !leases.has(BigInt(request.lease))) throw refuse.leaseNotFound();
}

function execute(view: WriteView, plan: Plan): ResponseOp[] {
  return plan.steps.map(({ operation, nested }): ResponseOp => {
    if (operation.request_range) return { response_range: range(view, operation.request_range) };
    if (operation.request_put) return { response_put: put(view, operation.request_put) };
    if (operation.request_delete_range) {
      return { response_delete_range: deleteRange(view, operation.request_delete_range) };
    }
    if (!nested) throw refuse.keyNotFound();
    const responses = execute(view, nested);
    return { response_txn: { header: { revision: 0 }, succeeded: nested.succeeded, responses } };
  });
}

const missing: Entry = {
  key: '',
  value: Buffer.alloc(0),
  createRevision: 0,
  modRevision: 0,
  version: 0,
  lease: 0n,
};

/** Every key of the range must satisfy it. A missing key has 0 everywhere, and no value that could equal anything. */
function holds(view: ReadView, compare: Compare): boolean {
  const entries = view.range(intervalOf(compare.key, compare.range_end));
  if (entries.length > 0) return entries.every((entry) => holdsFor(entry, compare));
  return compare.target !== 'Value' && holdsFor(missing, compare);
}

function holdsFor(entry: Entry, compare: Compare): boolean {
  const order = orderOf(entry, compare);
  switch (compare.result) {
    case 'Equal':
      return order === 0;
    case 'NotEqual':
      return order !== 0;
    case 'Greater':
      return order > 0;
    case 'Less':
      return order < 0;
    default:
      return true;
  }
}

function orderOf(entry: Entry, compare: Compare): number {
  switch (compare.target) {
    case 'Version':
      return orderOfInt64(BigInt(entry.version), compare.version);
    case 'Create':
      return orderOfInt64(BigInt(entry.createRevision), compare.create_revision);
    case 'Mod':
      return orderOfInt64(BigInt(entry.modRevision), compare.mod_revision);
    case 'Lease':
      return orderOfInt64(entry.lease, compare.lease);
    case 'Value':
      return Buffer.compare(entry.value, compare.value ?? missing.value);
    default:
      return 0;
  }
}

function orderOfInt64(actual: bigint, wanted = '0'): number {
  const other = BigInt(wanted);
  return actual < other ? -1 : actual > other ? 1 : 0;
}
