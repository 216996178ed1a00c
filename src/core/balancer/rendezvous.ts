import { type Hash64, toHex } from '../hashing/hash64.js';
import { murmur3 } from '../hashing/murmur3.js';
import { rendezvousScore, weightedScore } from '../hashing/rendezvous.js';
import {
  type Balancer,
  type Candidate,
  type KeyPlacement,
  missingKey,
  noInstance,
  type Picked,
  type PickOptions,
  picked,
  sorted,
  weightOf,
} from './balancer.js';

interface Node<I extends Candidate> {
  readonly instance: I;
  readonly hash: Hash64;
  readonly weight: number;
}

/**
 * The instance with the highest score for the key: no table, an instance that leaves moves only its own keys, and shares
 * are in proportion to the weights. Each pick looks at every instance.
 */
export class Rendezvous<I extends Candidate> implements Balancer<I> {
  #nodes: readonly Node<I>[] = [];
  #isWeighted = false;

  update(instances: readonly I[]): void {
    const kept = new Map(this.#nodes.map(({ instance, hash }) => [instance.address, hash]));
    this.#nodes = sorted(instances).map((instance) => ({
      instance,
      hash: kept.get(instance.address) ?? murmur3(instance.address),
      weight: weightOf(instance),
    }));
    this.#isWeighted = this.#nodes.some(({ weight }) => weight !== this.#nodes[0]?.weight);
  }

  pick(options: PickOptions = {}): Picked<I> {
    if (options.key === undefined) throw missingKey('rendezvous');
    const hash = murmur3(options.key);
    const best = this.#best(hash, options.avoid) ?? this.#best(hash, undefined);
    return picked(best?.instance);
  }

  place(key: string, nextLimit: number): KeyPlacement {
    const hash = murmur3(key);
    const [first, ...next] = this.#nodes
      .map((node) => ({ address: node.instance.address, score: this.#score(node, hash) }))
      .sort((a, b) => b.score - a.score)
      .map(({ address }) => address);
    if (first === undefined) throw noInstance();
    return { address: first, hash: toHex(hash, 16), point: null, virtualNode: null, next: next.slice(0, nextLimit) };
  }

  #best(key: Hash64, avoid: ((address: string) => boolean) | undefined): Node<I> | undefined {
    let best: Node<I> | undefined;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (const node of this.#nodes) {
      const score = this.#score(node, key);
      if (score <= bestScore || avoid?.(node.instance.address)) continue;
      best = node;
      bestScore = score;
    }
    return best;
  }

  #score(node: Node<I>, key: Hash64): number {
    const score = rendezvousScore(node.hash, key);
    return this.#isWeighted ? weightedScore(score, node.weight) : score;
  }
}
