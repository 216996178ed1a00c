import { modulo } from './hash64.js';
import { murmur3 } from './murmur3.js';

export const defaultMaglevSize = 65_537;
const nobody = 0xffffffff;

/**
 * Maglev's lookup table: each node fills the slots in an order of its own, one at a time in turn, so that all have nearly
 * the same number and a node that leaves moves little but its own keys. Nodes with one address count once.
 * Source: Eisenbud et al., Maglev: A Fast and Reliable Software Network Load Balancer, NSDI 2016, section 3.4
 */
export class MaglevTable {
  readonly #addresses: readonly string[];
  readonly #slots: Uint32Array;

  /** `size`: the number of slots, a prime well above the number of nodes. */
  constructor(addresses: readonly string[], size = defaultMaglevSize) {
    // Sorted: the order in which the set came must not decide who takes a slot first.
    this.#addresses = [...new Set(addresses)].sort();
    this.#slots = new Uint32Array(size).fill(nobody);
    if (this.#addresses.length > 0) this.#fill(size);
  }

  owner(key: string): string | null {
    return this.#addresses.length === 0 ? null : this.#addressAt(modulo(murmur3(key), this.#slots.length));
  }

  /** The distinct owners of the slots from that of `key` on: who gets the key when those before are to be avoided. */
  *owners(key: string): Generator<string> {
    const size = this.#slots.length;
    const seen = new Set<number>();
    const first = modulo(murmur3(key), size);
    for (let i = 0; i < size && seen.size < this.#addresses.length; i++) {
      const node = this.#slots[(first + i) % size] ?? nobody;
      if (seen.has(node) || node === nobody) continue;
      seen.add(node);
      yield this.#addresses[node] ?? '';
    }
  }

  #addressAt(slot: number): string {
    return this.#addresses[this.#slots[slot] ?? 0] ?? '';
  }

  #fill(size: number): void {
    const next = new Uint32Array(this.#addresses.length);
    const skip = new Uint32Array(this.#addresses.length);
    for (const [node, address] of this.#addresses.entries()) {
      const { hi, lo } = murmur3(address);
      next[node] = hi % size;
      skip[node] = (lo % (size - 1)) + 1;
    }
    for (let filled = 0; ; ) {
      for (let node = 0; node < next.length; node++) {
        let slot = next[node] ?? 0;
        while (this.#slots[slot] !== nobody) slot = (slot + (skip[node] ?? 1)) % size;
        this.#slots[slot] = node;
        next[node] = (slot + (skip[node] ?? 1)) % size;
        if (++filled === size) return;
      }
    }
  }
}

/** Whether a table of that many slots works: every node must be able to reach every slot. */
export function isPrime(n: number): boolean {
  if (!Number.isInteger(n) || n < 2) return false;
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false;
  return true;
}
