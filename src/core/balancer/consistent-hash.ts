import { Ring, type RingFlavour, type RingNode } from '../hashing/ring.js';
import {
  type Balancer,
  type Candidate,
  distinct,
  type KeyPlacement,
  missingKey,
  type Picked,
  type PickOptions,
  picked,
} from './balancer.js';
import { placeOnRing } from './place-on-ring.js';

/**
 * The owner of the key on a ring: a change of the set moves only the keys that it must.
 *
 * Weights count only when asked for: go-zero's clients give every instance a full share whatever its weight, and a
 * client that did otherwise would disagree with them on the owners.
 */
export class ConsistentHash<I extends Candidate> implements Balancer<I> {
  #instances: ReadonlyMap<string, I> = new Map();
  #ring: Ring;

  constructor(
    private readonly flavour: RingFlavour,
    private readonly weighted: boolean,
  ) {
    this.#ring = new Ring([], flavour);
  }

  update(instances: readonly I[]): void {
    const before = this.#instances;
    const after = new Map(distinct(instances).map((instance) => [instance.address, instance]));
    this.#instances = after;
    // Many updates change what no ring depends on (a lease, a zone), and hashing hundreds of nodes takes milliseconds.
    const kept = [...after.values()].filter(({ address, weight }) => {
      const old = before.get(address);
      return old !== undefined && (!this.weighted || old.weight === weight);
    });
    if (kept.length === before.size && kept.length === after.size) return;
    this.#ring = new Ring(
      [...after.values()].map((instance) => this.#ringNode(instance)),
      this.flavour,
    );
  }

  pick(options: PickOptions = {}): Picked<I> {
    const { key, avoid } = options;
    if (key === undefined) throw missingKey('consistent_hash');
    const owner = this.#ring.owner(key);
    const isGood = owner === null || !avoid?.(owner);
    const address = isGood ? owner : (this.#ring.ownerWhere(key, (next) => !avoid?.(next)) ?? owner);
    return picked(this.#instances.get(address ?? ''));
  }

  place(key: string, nextLimit: number): KeyPlacement {
    return placeOnRing(this.#ring, key, nextLimit);
  }

  #ringNode({ address, weight }: Candidate): RingNode {
    return this.weighted && weight !== undefined ? { address, weight } : { address };
  }
}
