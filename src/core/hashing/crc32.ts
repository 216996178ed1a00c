import CRC32 from 'crc-32';
import { isAscii, scratch } from './utf8.js';

/** CRC-32 (IEEE 802.3) of the UTF-8 bytes of `text`, unsigned. */
export function crc32(text: string): number {
  // Without a view of bytes, which is half of the cost.
  if (isAscii(text)) return CRC32.bstr(text) >>> 0;
  const length = scratch.encode(text);
  return CRC32.buf(scratch.bytes.subarray(0, length)) >>> 0;
}
