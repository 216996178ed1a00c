import {
  type Balancer,
  type Candidate,
  type InstanceView,
  noInstance,
  type Picked,
  type PickOptions,
} from './balancer.js';
import { type CountedNode, keepNodes, learnNothing, OpenCall, viewOfInFlight } from './counted.js';

/** The instance with the fewest calls in flight. Those that tie take turns: else an idle fleet would be its first instance. */
export class LeastActive<I extends Candidate> implements Balancer<I> {
  #nodes: CountedNode<I>[] = [];
  #turn = 0;

  update(instances: readonly I[]): void {
    this.#nodes = keepNodes(this.#nodes, instances, (instance) => ({ instance, inFlight: 0 }));
  }

  pick(options?: PickOptions): Picked<I> {
    const best = this.#least(options?.avoid) ?? this.#least(undefined);
    if (best === undefined) throw noInstance();
    return new OpenCall(best, 0, learnNothing);
  }

  inspect(): InstanceView[] {
    return this.#nodes.map(viewOfInFlight);
  }

  #least(avoid: ((address: string) => boolean) | undefined): CountedNode<I> | undefined {
    const count = this.#nodes.length;
    let best: CountedNode<I> | undefined;
    let at = 0;
    for (let i = 0; i < count; i++) {
      const index = (this.#turn + i) % count;
      const node = this.#nodes[index];
      if (node === undefined || (best !== undefined && node.inFlight >= best.inFlight)) continue;
      if (avoid?.(node.instance.address)) continue;
      best = node;
      at = index;
      // Nobody can have fewer.
      if (node.inFlight === 0) break;
    }
    // The turn goes to whoever follows the one that was taken.
    if (best !== undefined) this.#turn = (at + 1) % count;
    return best;
  }
}
