/** One key of a service and the address that it registers. */
export interface Entry {
  readonly key: string;
  readonly address: string;
}

/**
 * Which addresses a service has, from keys that come and go. Several keys with one address are one address; in
 * exclusive mode the newest key for an address evicts the older ones, so that the address leaves with the newest.
 */
export class Container {
  readonly #exclusive: boolean;
  readonly #keysOf = new Map<string, Set<string>>();
  readonly #addressOf = new Map<string, string>();
  #snapshot: readonly string[] = Object.freeze([]);
  #dirty = false;

  constructor(options: { exclusive?: boolean } = {}) {
    this.#exclusive = options.exclusive ?? false;
  }

  /**
   * Applies one batch, removals before additions; `added` in the order in which etcd wrote them. A key that is added
   * with another address than before moves to it.
   * @returns whether the set of addresses changed.
   */
  apply(removed: readonly string[], added: readonly Entry[]): boolean {
    const before = new Set<string>();
    const touched = new Set<string>();
    const touch = (address: string) => {
      if (touched.has(address)) return;
      touched.add(address);
      if (this.#keysOf.has(address)) before.add(address);
    };
    for (const key of removed) this.#remove(key, touch);
    for (const entry of added) this.#add(entry, touch);
    const changed = [...touched].some((address) => before.has(address) !== this.#keysOf.has(address));
    this.#dirty ||= changed;
    return changed;
  }

  /** The addresses, sorted; the same frozen array until they change. */
  addresses(): readonly string[] {
    if (this.#dirty) {
      this.#snapshot = Object.freeze([...this.#keysOf.keys()].sort());
      this.#dirty = false;
    }
    return this.#snapshot;
  }

  /** The keys that stand for an address (evicted ones excluded). */
  keys(address: string): readonly string[] {
    return [...(this.#keysOf.get(address) ?? [])];
  }

  #add({ key, address }: Entry, touch: (address: string) => void): void {
    if (this.#addressOf.get(key) === address) return;
    this.#remove(key, touch);
    touch(address);
    const keys = this.#keysOf.get(address) ?? new Set();
    if (this.#exclusive) {
      for (const older of keys) this.#addressOf.delete(older);
      keys.clear();
    }
    keys.add(key);
    this.#keysOf.set(address, keys);
    this.#addressOf.set(key, address);
  }

  #remove(key: string, touch: (address: string) => void): void {
    const address = this.#addressOf.get(key);
    if (address === undefined) return;
    touch(address);
    this.#addressOf.delete(key);
    const keys = this.#keysOf.get(address);
    keys?.delete(key);
    if (keys?.size === 0) this.#keysOf.delete(address);
  }
}
