import { readFileSync } from 'node:fs';
import { crc32 as nodeCrc32 } from 'node:zlib';
import fc from 'fast-check';
import oracle from 'murmurhash3js-revisited';
import { describe, expect, it } from 'vitest';
import { crc32 } from '../../../src/core/hashing/crc32.js';
import { modulo, toHex } from '../../../src/core/hashing/hash64.js';
import { murmur3 } from '../../../src/core/hashing/murmur3.js';
import { naiveMurmur3 } from './naive.js';

const vectors = JSON.parse(readFileSync(new URL('../../fixtures/hash.json', import.meta.url), 'utf8')) as {
  murmur3_sum64: Array<{ In: string; Hex: string }>;
  crc32_ieee: Array<{ In: string; Hex: string }>;
};
const anyText = fc.string({ unit: 'binary', maxLength: 200 });

describe('murmur3', () => {
  it.each(vectors.murmur3_sum64)('gives what go-zero gives for "$In"', ({ In, Hex }) => {
    expect(toHex(murmur3(In), 16)).toBe(Hex);
  });

  it('equals the BigInt reading of the paper, and another implementation, for any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const hash = murmur3(text);
        expect((BigInt(hash.hi) << 32n) | BigInt(hash.lo)).toBe(naiveMurmur3(text));
        expect(toHex(hash, 16)).toBe(oracle.x64.hash128(Buffer.from(text)).slice(0, 16));
      }),
      { numRuns: 500 },
    );
  });

  it('does not depend on what was hashed before: long, then short, then longer than any buffer', () => {
    const texts = ['x'.repeat(100_003), 'ab', '用'.repeat(70_001), '', 'abc'];
    for (const text of texts) expect(toHex(murmur3(text), 16)).toBe(oracle.x64.hash128(Buffer.from(text)).slice(0, 16));
  });
});

describe('crc32', () => {
  it.each(vectors.crc32_ieee)('gives what Go gives for "$In"', ({ In, Hex }) => {
    expect(crc32(In).toString(16).padStart(8, '0')).toBe(Hex);
  });

  it('equals zlib for any text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(crc32(text)).toBe(nodeCrc32(Buffer.from(text)));
      }),
    );
  });
});

describe('modulo', () => {
  it('equals BigInt division', () => {
    const uint32 = fc.integer({ min: 0, max: 0xffffffff });
    fc.assert(
      fc.property(uint32, uint32, fc.integer({ min: 1, max: 2 ** 20 }), (hi, lo, n) => {
        expect(modulo({ hi, lo }, n)).toBe(Number(((BigInt(hi) << 32n) | BigInt(lo)) % BigInt(n)));
      }),
    );
  });
});
