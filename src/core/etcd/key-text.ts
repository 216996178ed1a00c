import { isUtf8 } from 'node:buffer';
import type { KeyRange } from './port.js';

/*
 * etcd keys are bytes. As text, a byte that is part of no valid UTF-8 sequence becomes the lone surrogate
 * U+DC00 + byte, which no UTF-8 text contains: Python's "surrogateescape" (PEP 383).
 */

/** The key's bytes. A lone surrogate outside U+DC80…U+DCFF names no byte and becomes U+FFFD, as in any UTF-8 encoder. */
export function keyToBytes(text: string): Buffer {
  if (!/[\udc80-\udcff]/.test(text)) return Buffer.from(text, 'utf8');
  const parts: Buffer[] = [];
  // With the u flag a surrogate in a class matches only when it stands alone, not inside a pair.
  for (const part of text.split(/([\udc80-\udcff]+)/u)) {
    const isEscaped = /^[\udc80-\udcff]/u.test(part);
    parts.push(isEscaped ? Buffer.from(part, 'latin1') : Buffer.from(part, 'utf8'));
  }
  return Buffer.concat(parts);
}

/** The key as text; `keyToBytes` gives the same bytes back, whatever they are. */
export function keyFromBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let text = '';
  let at = 0;
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at);
    text += length === 0 ? String.fromCharCode(0xdc00 + (bytes[at] ?? 0)) : bytes.toString('utf8', at, at + length);
    at += Math.max(1, length);
  }
  return text;
}

/** Length of the valid UTF-8 sequence that starts at `at`; 0 when none does. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)) ? length : 0;
}

/** All keys that start with `prefix`; every key when it is empty. */
export function prefixRange(prefix: string): KeyRange {
  const end = keyToBytes(prefix);
  for (let i = end.length - 1; i >= 0; i--) {
    const byte = end[i] ?? 0;
    if (byte < 0xff) {
      end[i] = byte + 1;
      return { key: prefix, end: keyFromBytes(end.subarray(0, i + 1)) };
    }
  }
  // No key is above all others: etcd writes "to the end" as the byte 0, and takes no empty key.
  return { key: prefix === '' ? '\0' : prefix, end: '\0' };
}
