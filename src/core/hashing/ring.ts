import { crc32 } from './crc32.js';
import { type Hash64, modulo, toHex } from './hash64.js';
import { murmur3 } from './murmur3.js';
import { sortPoints } from './sort-points.js';

export const ringFlavours = ['gozero', 'crc32'] as const;
/** How virtual nodes are hashed: as go-zero does (64 bits of MurmurHash3), or by CRC-32. */
export type RingFlavour = (typeof ringFlavours)[number];

export interface RingNode {
  readonly address: string;
  /**
   * Percent of the replicas, 1 to 100; above 100 counts as 100, 0 and less as 1. Absent: all replicas, which is
   * what go-zero's own client gives every instance.
   */
  readonly weight?: number;
}

/** Where a key landed, and by which virtual node. */
export interface Lookup {
  readonly address: string;
  /** Hex, 16 digits on a `gozero` ring, 8 on a `crc32` ring. */
  readonly hash: string;
  /** The first point at or after the hash, wrapping; hex like `hash`. */
  readonly point: string;
  /** Which of the owner's virtual nodes sits there, from 0. */
  readonly virtualNode: number;
}

interface Flavour {
  readonly digits: 8 | 16;
  hash(text: string): Hash64;
  virtualNode(address: string, index: number): string;
}

const flavours: Record<RingFlavour, Flavour> = {
  // go-zero core/hash/consistenthash.go; no separator, so "h:900"+"1" and "h:9001"+… do meet on one point.
  gozero: { digits: 16, hash: murmur3, virtualNode: (address, index) => address + index },
  crc32: {
    digits: 8,
    hash: (text) => ({ hi: 0, lo: crc32(text) }),
    virtualNode: (address, index) => index + address,
  },
};

const minReplicas = 100;
const fullWeight = 100;
/** go-zero hashes `<this prime>:<key>` to choose among the owners of a shared point. */
const tieBreak = '16777619:';

/** An immutable consistent-hash ring. Nodes with one address count once (the first). */
export class Ring {
  readonly #flavour: Flavour;
  readonly #addresses: readonly string[];
  /** The points in ascending order, ties in order of adding: high and low half, owner, virtual node of the owner. */
  readonly #hi: Uint32Array;
  readonly #lo: Uint32Array;
  readonly #owner: Uint32Array;
  readonly #replica: Uint32Array;
  /** For each value of a hash's leading bits the first point at or after them: a lookup starts where it nearly ends. */
  readonly #starts: Uint32Array;
  readonly #shift: number;

  /** `replicas`: virtual nodes of a node at full weight; fewer than 100 are raised to 100, as go-zero does. */
  constructor(nodes: readonly RingNode[], flavour: RingFlavour, replicas = minReplicas) {
    this.#flavour = flavours[flavour];
    const unique = new Map<string, RingNode>();
    for (const node of nodes) if (!unique.has(node.address)) unique.set(node.address, node);
    // Sorted, so that two clients with the same set agree on shared points whatever order it came in.
    const sorted = [...unique.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
    this.#addresses = sorted.map((node) => node.address);

    const full = Math.max(replicas, minReplicas);
    const counts = sorted.map((node) => replicasOf(node, full));
    const size = counts.reduce((sum, count) => sum + count, 0);
    const [hi, lo] = [new Uint32Array(size), new Uint32Array(size)];
    const [owner, replica] = [new Uint32Array(size), new Uint32Array(size)];
    let at = 0;
    for (const [node, address] of this.#addresses.entries()) {
      const count = counts[node] ?? 0;
      for (let index = 0; index < count; index++, at++) {
        const point = this.#flavour.hash(this.#flavour.virtualNode(address, index));
        hi[at] = point.hi;
        lo[at] = point.lo;
        owner[at] = node;
        replica[at] = index;
      }
    }
    const order = sortPoints(hi, lo);
    this.#hi = order.map((i) => hi[i] ?? 0);
    this.#lo = order.map((i) => lo[i] ?? 0);
    this.#owner = order.map((i) => owner[i] ?? 0);
    this.#replica = order.map((i) => replica[i] ?? 0);
    [this.#starts, this.#shift] = indexPoints(this.#flavour.digits === 16 ? this.#hi : this.#lo);
  }

  /** The address that owns `key`, or null on an empty ring. */
  owner(key: string): string | null {
    const at = this.#locate(key, this.#flavour.hash(key));
    return at === null ? null : this.#addressAt(at);
  }

  lookup(key: string): Lookup | null {
    const hash = this.#flavour.hash(key);
    const at = this.#locate(key, hash);
    if (at === null) return null;
    const point = { hi: this.#hi[at] ?? 0, lo: this.#lo[at] ?? 0 };
    const digits = this.#flavour.digits;
    return {
      address: this.#addressAt(at),
      hash: toHex(hash, digits),
      point: toHex(point, digits),
      virtualNode: this.#replica[at] ?? 0,
    };
  }

  /**
   * The first `limit` owners of `key`: the owner itself, who owns the key when that one has left, who when both have…
   */
  owners(key: string, limit: number): string[] {
    const found: string[] = [];
    if (limit > 0) {
      this.ownerWhere(key, (address) => {
        found.push(address);
        return found.length === limit;
      });
    }
    return found;
  }

  /**
   * The first owner of `key` that will do: whose key it would be if those that do not had left. Each is asked at most
   * once; null when none will do.
   */
  ownerWhere(key: string, accept: (address: string) => boolean): string | null {
    const size = this.#owner.length;
    const taken = new Set<number>();
    let at = size === 0 ? 0 : this.#firstAtOrAfter(this.#flavour.hash(key));
    while (taken.size < this.#addresses.length) {
      const end = this.#endOfRun(at);
      // Those that share one point inherit the key from each other first.
      let here = end === at + 1 ? [this.#owner[at] ?? 0] : Array.from(this.#owner.subarray(at, end));
      here = here.filter((node) => !taken.has(node));
      while (here.length > 0) {
        const next = here[this.#tieIndex(key, here.length)] ?? 0;
        taken.add(next);
        const address = this.#addresses[next] ?? '';
        if (accept(address)) return address;
        here = here.filter((node) => node !== next);
      }
      at = end % size;
    }
    return null;
  }

  #locate(key: string, hash: Hash64): number | null {
    if (this.#owner.length === 0) return null;
    const first = this.#firstAtOrAfter(hash);
    return first + this.#tieIndex(key, this.#endOfRun(first) - first);
  }

  #tieIndex(key: string, choices: number): number {
    return choices === 1 ? 0 : modulo(this.#flavour.hash(tieBreak + key), choices);
  }

  #firstAtOrAfter({ hi, lo }: Hash64): number {
    const points = this.#hi.length;
    let at = this.#starts[(this.#flavour.digits === 16 ? hi : lo) >>> this.#shift] ?? 0;
    while (at < points) {
      const pointHi = this.#hi[at] ?? 0;
      if (pointHi > hi || (pointHi === hi && (this.#lo[at] ?? 0) >= lo)) break;
      at++;
    }
    return at === points ? 0 : at;
  }

  /** The index after the last virtual node that shares the point of `start`. */
  #endOfRun(start: number): number {
    let end = start + 1;
    while (end < this.#hi.length && this.#hi[end] === this.#hi[start] && this.#lo[end] === this.#lo[start]) end++;
    return end;
  }

  #addressAt(at: number): string {
    return this.#addresses[this.#owner[at] ?? 0] ?? '';
  }
}

function replicasOf(node: RingNode, full: number): number {
  if (node.weight === undefined) return full;
  return Math.min(full, Math.trunc((full * Math.max(node.weight, 1)) / fullWeight));
}

/** About one point an entry: `starts[top >>> shift]` is the first point whose leading bits are at or after those. */
function indexPoints(tops: Uint32Array): [starts: Uint32Array, shift: number] {
  const bits = Math.max(1, Math.min(24, Math.ceil(Math.log2(tops.length + 1))));
  const shift = 32 - bits;
  const starts = new Uint32Array(2 ** bits);
  let at = 0;
  for (let leading = 0; leading < starts.length; leading++) {
    while (at < tops.length && (tops[at] ?? 0) >>> shift < leading) at++;
    starts[leading] = at;
  }
  return [starts, shift];
}
