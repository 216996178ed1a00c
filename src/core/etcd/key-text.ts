import type { KeyRange } from './port.js';
/** Stand-in until the etcd room brings its own. */
export function prefixRange(prefix: string): KeyRange {
  const last = prefix.charCodeAt(prefix.length - 1);
  return { key: prefix, end: prefix.slice(0, -1) + String.fromCharCode(last + 1) };
}
