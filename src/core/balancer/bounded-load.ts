import { Ring } from '../hashing/ring.js';
import { LbctlError } from '../model/errors.js';
import {
  type Balancer,
  type Candidate,
  type InstanceView,
  type KeyPlacement,
  missingKey,
  noInstance,
  type Picked,
  type PickOptions,
  sameAddresses,
} from './balancer.js';
import { type CountedNode, keepNodes, learnNothing, nodesLeft, OpenCall, viewOfInFlight } from './counted.js';
import { placeOnRing } from './place-on-ring.js';

const defaultLoadFactor = 1.25;

/**
 * Consistent hashing where no instance has more than `loadFactor` times the mean of the calls in flight: a key whose owner is
 * full goes to the next owner on the ring.
 * Source: Mirrokni, Thorup, Zadimoghaddam, Consistent Hashing with Bounded Loads, 2016
 */
export class BoundedLoad<I extends Candidate> implements Balancer<I> {
  #nodes: CountedNode<I>[] = [];
  #byAddress: ReadonlyMap<string, CountedNode<I>> = new Map();
  #ring = new Ring([], 'gozero');

  /** @throws USAGE when `loadFactor` is not above 1. */
  constructor(private readonly loadFactor = defaultLoadFactor) {
    if (!(loadFactor > 1)) {
      throw new LbctlError('USAGE', `bounded_load: a loadFactor of ${loadFactor} leaves no room, it must be above 1`, {
        suggestions: [`${defaultLoadFactor} is the default.`],
      });
    }
  }

  update(instances: readonly I[]): void {
    const before = this.#byAddress;
    this.#nodes = keepNodes(this.#nodes, instances, (instance) => ({ instance, inFlight: 0 }));
    this.#byAddress = new Map(this.#nodes.map((node) => [node.instance.address, node]));
    if (sameAddresses(before, this.#byAddress)) return;
    const nodes = [...this.#byAddress.keys()].map((address) => ({ address }));
    this.#ring = new Ring(nodes, 'gozero');
  }

  pick(options: PickOptions = {}): Picked<I> {
    const { key, avoid } = options;
    if (key === undefined) throw missingKey('bounded_load');
    const home = this.#byAddress.get(this.#ring.owner(key) ?? '');
    if (home === undefined) throw noInstance();
    const nodes = nodesLeft(this.#nodes, avoid);
    const most = this.#mostInFlight(nodes);
    const isAvoided = nodes !== this.#nodes && avoid?.(home.instance.address) === true;
    const node = home.inFlight < most && !isAvoided ? home : this.#nextWithRoom(key, nodes, most);
    return new OpenCall(node ?? home, 0, learnNothing);
  }

  /** Where the key is at home; a pick goes there unless it is full. */
  place(key: string, nextLimit: number): KeyPlacement {
    return placeOnRing(this.#ring, key, nextLimit);
  }

  inspect(): InstanceView[] {
    return this.#nodes.map(viewOfInFlight);
  }

  #mostInFlight(nodes: readonly CountedNode<I>[]): number {
    let inFlight = 0;
    for (const node of nodes) inFlight += node.inFlight;
    return Math.ceil((this.loadFactor * (inFlight + 1)) / nodes.length);
  }

  #nextWithRoom(key: string, nodes: readonly CountedNode<I>[], most: number): CountedNode<I> | undefined {
    const withRoom = new Set(nodes.filter(({ inFlight }) => inFlight < most).map(({ instance }) => instance.address));
    return this.#byAddress.get(this.#ring.ownerWhere(key, (address) => withRoom.has(address)) ?? '');
  }
}
