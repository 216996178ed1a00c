import { crc32 } from '../hashing/crc32.js';
import { toHex } from '../hashing/hash64.js';
import {
  type Balancer,
  type Candidate,
  type KeyPlacement,
  missingKey,
  type Picked,
  type PickOptions,
  picked,
  sorted,
} from './balancer.js';
import { WeightIntervals } from './weight-intervals.js';

/** crc32(key) mod the total weight, into intervals of weight in order of address. */
export class WeightedHash<I extends Candidate> implements Balancer<I> {
  #intervals = new WeightIntervals<I>([]);

  update(instances: readonly I[]): void {
    this.#intervals = new WeightIntervals(sorted(instances));
  }

  pick(options: PickOptions = {}): Picked<I> {
    if (options.key === undefined) throw missingKey('weighted_hash');
    const intervals = this.#intervals.left(options);
    return picked(intervals.at(crc32(options.key) % intervals.total));
  }

  place(key: string): KeyPlacement {
    const { address } = this.pick({ key }).instance;
    return { address, hash: toHex({ hi: 0, lo: crc32(key) }, 8), point: null, virtualNode: null, next: [] };
  }
}
