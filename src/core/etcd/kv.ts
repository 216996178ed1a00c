import { CompareResult, CompareTarget, type ICompare, type ITxnResponse } from 'etcd3';
import { isLbctlError } from '../model/errors.js';
import { rangeBytes, toBytes, toHeader, toKeyValue, toRequestOp } from './convert.js';
import { keyToBytes } from './key-text.js';
import type {
  CallOptions,
  Compare,
  Header,
  KeyRange,
  KeyValue,
  Listing,
  RangeOptions,
  TxnRequest,
  TxnResult,
} from './port.js';
import type { UnaryRunner } from './unary.js';

/** 10,000 registrations in two answers; fewer a page when values are so large that a page exceeds what grpc takes. */
const pageSize = 5000;

/** Reads a range page by page, all pages at the revision of the first. `options.timeoutMs` bounds the whole. */
export async function list(unary: UnaryRunner, range: KeyRange, options: RangeOptions): Promise<Listing> {
  const { key, range_end: rangeEnd } = rangeBytes(range);
  const rest = unary.budget(options);
  let kvs: KeyValue[] = [];
  let from = key;
  let header: Header | null = null;
  let limit = pageSize;
  for (;;) {
    const request = {
      key: from,
      ...(rangeEnd === undefined ? {} : { range_end: rangeEnd }),
      limit: String(limit),
      revision: String(header?.revision ?? 0n),
      keys_only: options.keysOnly === true,
    };
    try {
      const page = await unary.call(
        {
          what: range.key === '\0' ? 'list all keys' : `list ${JSON.stringify(range.key)}`,
          repeat: 'safe',
          run: (client, callOptions) => client.kv.range(request, callOptions),
        },
        rest(),
      );
      header ??= toHeader(page.header);
      for (const kv of page.kvs) kvs.push(toKeyValue(kv));
      const last = page.kvs.at(-1);
      if (!page.more || last === undefined) return { header, kvs };
      // The smallest key above the last one: it followed by a zero byte.
      from = Buffer.concat([last.key, Buffer.of(0)]);
    } catch (error) {
      if (isLbctlError(error, 'ETCD_COMPACTED') && header !== null) {
        // Compacted between two pages: what was read cannot be completed, so read a newer revision.
        kvs = [];
        header = null;
        from = key;
      } else if (limit > 1 && isLbctlError(error, 'ETCD_REJECTED') && error.message.includes('larger than max')) {
        limit = Math.ceil(limit / 8);
      } else {
        throw error;
      }
    }
  }
}

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
      run: (client, callOptions) => client.kv.txn(wire, callOptions),
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
