import { crc32 as nodeCrc32 } from 'node:zlib';
import type { RingFlavour, RingNode } from '../../../src/core/hashing/ring.js';

const mask = (1n << 64n) - 1n;
const rotl = (x: bigint, r: bigint) => ((x << r) | (x >> (64n - r))) & mask;

function fmix(k: bigint): bigint {
  k ^= k >> 33n;
  k = (k * 0xff51afd7ed558ccdn) & mask;
  k ^= k >> 33n;
  k = (k * 0xc4ceb9fe1a85ec53n) & mask;
  return k ^ (k >> 33n);
}

/** MurmurHash3 x64-128 as its paper's code reads, on BigInt; the first 64 bits. */
export function naiveMurmur3(text: string): bigint {
  const data = Buffer.from(text);
  const [c1, c2] = [0x87c37b91114253d5n, 0x4cf5ad432745937fn];
  let [h1, h2] = [0n, 0n];
  const blocks = Math.floor(data.length / 16);
  for (let block = 0; block < blocks; block++) {
    let k1 = data.readBigUInt64LE(block * 16);
    let k2 = data.readBigUInt64LE(block * 16 + 8);
    k1 = (rotl((k1 * c1) & mask, 31n) * c2) & mask;
    h1 = (rotl(h1 ^ k1, 27n) + h2) & mask;
    h1 = (h1 * 5n + 0x52dce729n) & mask;
    k2 = (rotl((k2 * c2) & mask, 33n) * c1) & mask;
    h2 = (rotl(h2 ^ k2, 31n) + h1) & mask;
    h2 = (h2 * 5n + 0x38495ab5n) & mask;
  }
  const tail = data.subarray(blocks * 16);
  let [k1, k2] = [0n, 0n];
  for (let i = tail.length - 1; i >= 0; i--) {
    if (i >= 8) k2 = (k2 << 8n) | BigInt(tail[i] ?? 0);
    else k1 = (k1 << 8n) | BigInt(tail[i] ?? 0);
  }
  if (tail.length > 8) h2 ^= (rotl((k2 * c2) & mask, 33n) * c1) & mask;
  if (tail.length > 0) h1 ^= (rotl((k1 * c1) & mask, 31n) * c2) & mask;
  h1 ^= BigInt(data.length);
  h2 ^= BigInt(data.length);
  h1 = (h1 + h2) & mask;
  h2 = (h2 + h1) & mask;
  h1 = fmix(h1);
  h2 = fmix(h2);
  return (h1 + h2) & mask;
}

export function naiveHash(text: string, flavour: RingFlavour): bigint {
  return flavour === 'gozero' ? naiveMurmur3(text) : BigInt(nodeCrc32(Buffer.from(text)));
}

/** The ring as go-zero holds it: a map from point to its nodes in order of adding, and the sorted points. */
export class NaiveRing {
  readonly #owners = new Map<bigint, string[]>();
  readonly #points: bigint[];

  constructor(
    nodes: readonly RingNode[],
    readonly flavour: RingFlavour,
    replicas = 100,
  ) {
    const full = Math.max(100, replicas);
    for (const node of [...nodes].sort((a, b) => (a.address < b.address ? -1 : 1))) {
      const weight = node.weight === undefined ? 100 : Math.max(1, node.weight);
      const count = Math.min(full, Math.trunc((full * weight) / 100));
      for (let i = 0; i < count; i++) {
        const point = naiveHash(flavour === 'gozero' ? `${node.address}${i}` : `${i}${node.address}`, flavour);
        this.#owners.set(point, [...(this.#owners.get(point) ?? []), node.address]);
      }
    }
    this.#points = [...this.#owners.keys()].sort((a, b) => (a < b ? -1 : 1));
  }

  get sharedPoints(): number {
    return [...this.#owners.values()].filter((owners) => owners.length > 1).length;
  }

  owner(key: string): string | null {
    const hash = naiveHash(key, this.flavour);
    const point = this.#points.find((candidate) => candidate >= hash) ?? this.#points[0];
    const owners = point === undefined ? [] : (this.#owners.get(point) ?? []);
    if (owners.length < 2) return owners[0] ?? null;
    return owners[Number(naiveHash(`16777619:${key}`, this.flavour) % BigInt(owners.length))] ?? null;
  }
}
