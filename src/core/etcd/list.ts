import { isLbctlError } from '../model/errors.js';
import type { Header, KeyRange, KeyValue, Listing, RangeOptions } from './port.js';
import * as reads from './reads.js';
import type { UnaryRunner } from './unary.js';

/** 10,000 registrations in two answers; fewer a page when values are so large that a page exceeds what grpc takes. */
const pageSize = 5000;

/** Reads a range page by page, all pages at the revision of the first. `options.timeoutMs` bounds the whole. */
export async function list(unary: UnaryRunner, range: KeyRange, options: RangeOptions): Promise<Listing> {
  const rest = unary.budget(options);
  let kvs: KeyValue[] = [];
  let from = range.key;
  let header: Header | null = null;
  let limit = pageSize;
  for (;;) {
    const request: reads.RangeRequest = {
      range: { ...range, key: from },
      limit: BigInt(limit),
      revision: header?.revision ?? 0n,
      keysOnly: options.keysOnly === true,
    };
    try {
      const page = await unary.call(
        {
          // Nobody writes a key of one zero byte: it is where a list of everything begins.
          what: range.key === '\0' ? 'list all keys' : `list ${JSON.stringify(range.key)}`,
          repeat: 'safe',
          run: (link, callOptions) => link.read(reads.range, request, callOptions),
        },
        rest(),
      );
      header ??= page.header;
      for (const kv of page.kvs) kvs.push(kv);
      const last = page.kvs.at(-1);
      if (!page.more || last === undefined) return { header, kvs };
      // The smallest key above the last one: it followed by a zero byte.
      from = `${last.key}\0`;
    } catch (error) {
      if (isLbctlError(error, 'ETCD_COMPACTED') && header !== null) {
        // Compacted between two pages: what was read cannot be completed, so read a newer revision.
        kvs = [];
        header = null;
        from = range.key;
      } else if (limit > 1 && isLbctlError(error, 'ETCD_REJECTED') && error.message.includes('larger than max')) {
        limit = Math.ceil(limit / 8);
      } else {
        throw error;
      }
    }
  }
}
