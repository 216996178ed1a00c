import type { Hash64 } from './hash64.js';

/**
 * The score of a node for a key, in (0, 1): a hash of both hashes. The node with the highest score has the key.
 * Mixing is murmur3's 32-bit finaliser, twice, over both halves.
 * Source: Thaler and Ravishankar, Using Name-Based Mappings to Increase Hit Rates, 1998
 */
export function rendezvousScore(node: Hash64, key: Hash64): number {
  const mixed = mix((mix(node.hi ^ key.hi) + Math.imul(node.lo ^ rotate(key.lo), 0x9e3779b1)) | 0);
  const low = mix(mixed ^ node.lo ^ key.lo);
  // 53 bits: with 32 two of 10,000 nodes tie for one key in a few hundred.
  return (mixed * 2 ** 21 + (low >>> 11) + 0.5) / 2 ** 53;
}

/** The same where a node's share is to be in proportion to `weight`. Logarithmic method of Schindelhauer and Schomaker, 2005. */
export function weightedScore(score: number, weight: number): number {
  return -weight / Math.log(score);
}

function rotate(x: number): number {
  return (x << 13) | (x >>> 19);
}

function mix(x: number): number {
  let h = x ^ (x >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
