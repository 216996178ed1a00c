/**
 * Keys are byte strings held as latin1 text: one character a byte, so comparing the text compares the bytes.
 * Half-open [start, end); `end` null means "to the last key".
 */
export interface Interval {
  readonly start: string;
  readonly end: string | null;
}

export const keyText = (bytes: Buffer): string => bytes.toString('latin1');
export const keyBytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/** The interval that holds one key: the smallest text above `key` is `key` followed by a zero byte. */
export const pointInterval = (key: string): Interval => ({ start: key, end: `${key}\0` });

/** etcd's convention: no range_end is one key, a single zero byte is "every key from here on". */
export function intervalOf(key: Buffer, rangeEnd: Buffer): Interval {
  const start = keyText(key);
  if (rangeEnd.length === 0) return pointInterval(start);
  const end = keyText(rangeEnd);
  return { start, end: end === '\0' ? null : end };
}

export function contains(interval: Interval, key: string): boolean {
  return key >= interval.start && (interval.end === null || key < interval.end);
}
