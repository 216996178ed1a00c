import type { Hash64 } from './hash64.js';
import { scratch } from './utf8.js';

// MurmurHash3_x64_128 by Austin Appleby (public domain), on pairs of uint32 named …h (high) and …l (low).
const C1H = 0x87c37b91;
const C1L = 0x114253d5;
const C2H = 0x4cf5ad43;
const C2L = 0x2745937f;

/** High half of the 64-bit product of two uint32; `Math.imul` gives the low half. */
function mulHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  // Each sum stays below 2^32: (2^16-1)^2 + 2^16-1 < 2^32.
  const mid = (Math.imul(aHigh, bLow) >>> 0) + (Math.imul(aLow, bLow) >>> 16);
  const cross = (Math.imul(aLow, bHigh) >>> 0) + (mid & 0xffff);
  return (Math.imul(aHigh, bHigh) + (mid >>> 16) + (cross >>> 16)) | 0;
}

/** High half of a 64 x 64 -> 64 bit product. */
function mulH(ah: number, al: number, bh: number, bl: number): number {
  return (mulHigh(al, bl) + Math.imul(ah, bl) + Math.imul(al, bh)) | 0;
}

/** 1 when the uint32 sum `a + b` carried; `sum` is that sum modulo 2^32. */
function carry(sum: number, a: number): number {
  return sum >>> 0 < a >>> 0 ? 1 : 0;
}

/**
 * The first 64 bits of MurmurHash3 x64-128, seed 0, of the UTF-8 bytes of `text`: what go-zero calls `hash.Hash`.
 */
export function murmur3(text: string): Hash64 {
  const length = scratch.encode(text);
  const words = scratch.words;
  let h1h = 0;
  let h1l = 0;
  let h2h = 0;
  let h2l = 0;

  // One loop for blocks and tail: the tail is a block that is padded with zeros (the scratch buffer sees to it) and
  // mixed in without the last steps; a half of nothing but padding contributes 0, as 0 times a constant is 0.
  for (let at = 0; at < length; at += 16) {
    let kl = words.getInt32(at, true);
    let kh = words.getInt32(at + 4, true);
    // k1 *= c1; k1 = rotl(k1, 31); k1 *= c2; h1 ^= k1
    let h = mulH(kh, kl, C1H, C1L);
    let l = Math.imul(kl, C1L);
    kh = (h << 31) | (l >>> 1);
    kl = (l << 31) | (h >>> 1);
    h1h ^= mulH(kh, kl, C2H, C2L);
    h1l ^= Math.imul(kl, C2L);

    const whole = at + 16 <= length;
    if (whole) {
      // h1 = rotl(h1, 27); h1 += h2; h1 = h1*5 + 0x52dce729
      h = (h1h << 27) | (h1l >>> 5);
      l = (h1l << 27) | (h1h >>> 5);
      h1l = (l + h2l) | 0;
      h1h = (h + h2h + carry(h1l, l)) | 0;
      h1h = mulH(h1h, h1l, 0, 5);
      l = Math.imul(h1l, 5);
      h1l = (l + 0x52dce729) | 0;
      h1h = (h1h + carry(h1l, l)) | 0;
    }

    kl = words.getInt32(at + 8, true);
    kh = words.getInt32(at + 12, true);
    // k2 *= c2; k2 = rotl(k2, 33); k2 *= c1; h2 ^= k2
    h = mulH(kh, kl, C2H, C2L);
    l = Math.imul(kl, C2L);
    kh = (l << 1) | (h >>> 31);
    kl = (h << 1) | (l >>> 31);
    h2h ^= mulH(kh, kl, C1H, C1L);
    h2l ^= Math.imul(kl, C1L);

    if (whole) {
      // h2 = rotl(h2, 31); h2 += h1; h2 = h2*5 + 0x38495ab5
      h = (h2h << 31) | (h2l >>> 1);
      l = (h2l << 31) | (h2h >>> 1);
      h2l = (l + h1l) | 0;
      h2h = (h + h1h + carry(h2l, l)) | 0;
      h2h = mulH(h2h, h2l, 0, 5);
      l = Math.imul(h2l, 5);
      h2l = (l + 0x38495ab5) | 0;
      h2h = (h2h + carry(h2l, l)) | 0;
    }
  }

  h1l ^= length;
  h2l ^= length;
  h1l = (h1l + h2l) | 0;
  h1h = (h1h + h2h + carry(h1l, h2l)) | 0;
  h2l = (h2l + h1l) | 0;
  h2h = (h2h + h1h + carry(h2l, h1l)) | 0;
  const a = finalMix(h1h, h1l);
  const b = finalMix(h2h, h2l);
  const lo = (a.lo + b.lo) | 0;
  return { hi: (a.hi + b.hi + carry(lo, a.lo)) >>> 0, lo: lo >>> 0 };
}

/** fmix64: three xor-shifts by 33 around two multiplications. */
function finalMix(h: number, l: number): Hash64 {
  l ^= h >>> 1;
  h = mulH(h, l, 0xff51afd7, 0xed558ccd);
  l = Math.imul(l, 0xed558ccd);
  l ^= h >>> 1;
  h = mulH(h, l, 0xc4ceb9fe, 0x1a85ec53);
  l = Math.imul(l, 0x1a85ec53);
  l ^= h >>> 1;
  return { hi: h, lo: l };
}
