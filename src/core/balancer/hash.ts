import { crc32 } from '../hashing/crc32.js';
import { toHex } from '../hashing/hash64.js';
import {
  type Balancer,
  type Candidate,
  instancesLeft,
  type KeyPlacement,
  missingKey,
  type Picked,
  type PickOptions,
  picked,
  sorted,
} from './balancer.js';

/** crc32(key) mod n over the instances in order of address. A change of n moves most keys. */
export class Hash<I extends Candidate> implements Balancer<I> {
  #instances: readonly I[] = [];

  update(instances: readonly I[]): void {
    this.#instances = sorted(instances);
  }

  pick(options: PickOptions = {}): Picked<I> {
    if (options.key === undefined) throw missingKey('hash');
    const instances = instancesLeft(this.#instances, options);
    return picked(instances[crc32(options.key) % instances.length]);
  }

  place(key: string): KeyPlacement {
    const { address } = this.pick({ key }).instance;
    return { address, hash: toHex({ hi: 0, lo: crc32(key) }, 8), point: null, virtualNode: null, next: [] };
  }
}
