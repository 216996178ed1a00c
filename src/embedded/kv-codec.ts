import { keyBytes } from './interval.js';
import type { Entry } from './store.js';
import type { WireKeyValue } from './wire.js';

const nothing = Buffer.alloc(0);

export function wireKeyValue(entry: Entry, options: { keysOnly?: boolean } = {}): WireKeyValue {
  return {
    key: keyBytes(entry.key),
    value: options.keysOnly ? nothing : entry.value,
    create_revision: entry.createRevision,
    mod_revision: entry.modRevision,
    version: entry.version,
    lease: entry.lease.toString(),
  };
}
