import type { UntypedServiceImplementation } from '@grpc/grpc-js';
import { checkWriteSize, unary } from './calls.js';
import { checkDelete, checkPut, checkRange, deleteRange, range } from './operations.js';
import type { Registry } from './registry.js';
import { runPut, runTxn } from './txn.js';
import { checkTxn } from './txn-check.js';
import type {
  CompactionRequest,
  DeleteRangeRequest,
  PutRequest,
  RangeRequest,
  TxnRequest,
  WireHeader,
} from './wire.js';

export function kvService(registry: Registry): UntypedServiceImplementation {
  const { store, leases } = registry;
  const complete = <R extends { readonly header: WireHeader }>(response: R) => ({
    ...response,
    header: registry.header(response.header.revision),
  });
  return {
    Range: unary((request: RangeRequest) => {
      checkRange(request);
      return complete(range(store, request));
    }),
    Put: unary((request: PutRequest) => {
      checkPut(request);
      checkWriteSize(request);
      return complete(runPut(store, leases, request));
    }),
    DeleteRange: unary((request: DeleteRangeRequest) => {
      checkDelete(request);
      checkWriteSize(request);
      return complete(store.write((view) => deleteRange(view, request)));
    }),
    Txn: unary((request: TxnRequest) => {
      checkTxn(request);
      if (!onlyReads(request)) checkWriteSize(request);
      return complete(runTxn(store, leases, request));
    }),
    Compact: unary((request: CompactionRequest) => {
      store.compact(Number(request.revision));
      return { header: registry.header() };
    }),
  };
}

/** Such a transaction is not written to etcd's log, so the limit of the log does not bind it. */
function onlyReads(request: TxnRequest): boolean {
  return [...request.success, ...request.failure].every((operation) => operation.request_range !== undefined);
}
