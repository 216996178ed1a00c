import { toHex } from '../hashing/hash64.js';
import { defaultMaglevSize, isPrime, MaglevTable } from '../hashing/maglev.js';
import { murmur3 } from '../hashing/murmur3.js';
import { LbctlError } from '../model/errors.js';
import {
  type Balancer,
  type Candidate,
  distinct,
  type KeyPlacement,
  missingKey,
  noInstance,
  type Picked,
  type PickOptions,
  picked,
  sameAddresses,
} from './balancer.js';

/**
 * The owner of the key in a Maglev table. Weights do not count. A key whose owner is to be avoided goes to the owner of the
 * slots that follow, which is not always where it would go had that one left: a table for each set that is left costs too much.
 */
export class Maglev<I extends Candidate> implements Balancer<I> {
  #instances: ReadonlyMap<string, I> = new Map();
  #table: MaglevTable;

  /** @throws USAGE when `tableSize` is no prime. */
  constructor(private readonly tableSize = defaultMaglevSize) {
    if (!isPrime(tableSize) || tableSize > 2 ** 20) {
      throw new LbctlError(
        'USAGE',
        `maglev: a table of ${tableSize} slots does not work, the number must be a prime below 2^20`,
        {
          suggestions: [`${defaultMaglevSize} is the default; 2039 does for up to about 20 instances.`],
        },
      );
    }
    this.#table = new MaglevTable([], tableSize);
  }

  update(instances: readonly I[]): void {
    const before = this.#instances;
    this.#instances = new Map(distinct(instances).map((instance) => [instance.address, instance]));
    if (!sameAddresses(before, this.#instances))
      this.#table = new MaglevTable([...this.#instances.keys()], this.tableSize);
  }

  pick(options: PickOptions = {}): Picked<I> {
    const { key, avoid } = options;
    if (key === undefined) throw missingKey('maglev');
    const owner = this.#table.owner(key);
    if (owner === null || !avoid?.(owner)) return picked(this.#instances.get(owner ?? ''));
    for (const next of this.#table.owners(key)) if (!avoid(next)) return picked(this.#instances.get(next));
    return picked(this.#instances.get(owner));
  }

  place(key: string): KeyPlacement {
    const address = this.#table.owner(key);
    if (address === null) throw noInstance();
    return { address, hash: toHex(murmur3(key), 16), point: null, virtualNode: null, next: [] };
  }
}
