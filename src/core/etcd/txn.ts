import { CompareResult, CompareTarget, type ICompare, type ITxnResponse } from 'etcd3';
import { toBytes, toHeader, toKeyValue, toRequestOp } from './convert.js';
import { keyToBytes } from './key-text.js';
import type { CallOptions, Compare, TxnRequest, TxnResult } from './port.js';
import type { UnaryRunner } from './unary.js';

export async function txn(
  unary: UnaryRunner,
  request: TxnRequest,
  options: CallOptions & { idempotent?: boolean },
): Promise<TxnResult> {
  const wire = {
    compare: (request.compare ?? []).map(toCompare),
    success: request.success.map(toRequestOp),
    failure: (request.failure ?? []).map(toRequestOp),
  };
  const response = await unary.call(
    {
      what: describe(request),
      repeat: options.idempotent ? 'safe' : 'once',
      run: async (link, callOptions) => (await link.etcd3()).kv.txn(wire, callOptions),
    },
    options,
  );
  return toResult(response);
}

function toResult(response: ITxnResponse): TxnResult {
  return {
    succeeded: response.succeeded,
    header: toHeader(response.header),
    results: response.responses.map((each) => ({
      kvs: each.response_range ? each.response_range.kvs.map(toKeyValue) : [],
      deleted: each.response_delete_range ? Number(each.response_delete_range.deleted) : 0,
    })),
  };
}

const operators = {
  '=': CompareResult.Equal,
  '!=': CompareResult.NotEqual,
  '<': CompareResult.Less,
  '>': CompareResult.Greater,
} as const;

function toCompare(compare: Compare): ICompare {
  const base = { key: keyToBytes(compare.key), result: operators[compare.is] };
  switch (compare.target) {
    case 'value':
      return { ...base, target: CompareTarget.Value, value: toBytes(compare.value) };
    case 'mod':
      return { ...base, target: CompareTarget.Mod, mod_revision: String(compare.value) };
    case 'create':
      return { ...base, target: CompareTarget.Create, create_revision: String(compare.value) };
    case 'version':
      return { ...base, target: CompareTarget.Version, version: String(compare.value) };
    case 'lease':
      return { ...base, target: CompareTarget.Lease, lease: String(compare.value) };
  }
}

/** `put "a/1", delete "b/2"`: what messages say about a transaction. */
function describe(request: TxnRequest): string {
  const names = request.success.map((operation) => {
    if ('put' in operation) return `put ${JSON.stringify(operation.put)}`;
    if ('delete' in operation) return `delete ${JSON.stringify(operation.delete.key)}`;
    return `get ${JSON.stringify(operation.get.key)}`;
  });
  const shown = names.slice(0, 3).join(', ');
  return names.length > 3
    ? `${shown} and ${names.length - 3} more in one transaction`
    : shown || 'run an empty transaction';
}
