import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keyFromBytes, keyToBytes, prefixRange } from '../../../src/core/etcd/key-text.js';

/** Bytes that often form, break and nearly form UTF-8 sequences. */
const key = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
      fc.string({ unit: 'binary', maxLength: 4 }).map((text) => Buffer.from(text, 'utf8')),
      fc
        .constantFrom('eda080', 'edb2a9', 'c080', 'f4908080', 'e282', 'f09f98', 'ff')
        .map((hex) => Buffer.from(hex, 'hex')),
    ),
    { maxLength: 6 },
  )
  .map((parts) => Buffer.concat(parts));

test('any key survives the way to text and back', () => {
  fc.assert(
    fc.property(key, (bytes) => {
      expect(keyToBytes(keyFromBytes(bytes))).toEqual(bytes);
    }),
    { numRuns: 2000 },
  );
});

test('text that is UTF-8 stays as it is, and a stray byte becomes a lone surrogate', () => {
  expect(keyFromBytes(Buffer.from('svc/ü/😀'))).toBe('svc/ü/😀');
  expect(keyFromBytes(Buffer.from('61ff62', 'hex'))).toBe('a\udcffb');
  expect(keyToBytes('😀\udcff').toString('hex')).toBe('f09f9880ff');
});

test('the range of a prefix holds exactly the keys that start with it', () => {
  const short = fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes));
  const nearTop = fc.array(fc.constantFrom(0xfe, 0xff, 0), { maxLength: 4 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.oneof(short, nearTop), fc.oneof(short, nearTop), (prefix, other) => {
      fc.pre(other.length > 0);
      const range = prefixRange(keyFromBytes(prefix));
      const [start, end] = [keyToBytes(range.key), keyToBytes(range.end ?? '')];
      const isIn = Buffer.compare(other, start) >= 0 && (end.equals(Buffer.of(0)) || Buffer.compare(other, end) < 0);
      expect(isIn).toBe(other.subarray(0, prefix.length).equals(prefix));
    }),
    { numRuns: 2000 },
  );
});
