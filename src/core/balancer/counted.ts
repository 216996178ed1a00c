import {
  type CallOutcome,
  type Candidate,
  distinct,
  type InstanceView,
  leftOf,
  type Picked,
  type PickOptions,
} from './balancer.js';

/** What a policy keeps of one instance while it counts the calls in flight there. */
export interface CountedNode<I extends Candidate> {
  instance: I;
  inFlight: number;
}

/** What a policy learns when a call of `node` that began at `startedAt` (in the policy's own unit) has ended. */
export type Learn<N> = (node: N, startedAt: number, outcome: CallOutcome) => void;

/**
 * A call in flight. It is the handle that the caller gets and the only thing that a pick allocates. It counts down the
 * node that it counted up: one that has left, or left and come back, is no longer that node.
 */
export class OpenCall<I extends Candidate, N extends CountedNode<I>> implements Picked<I> {
  readonly instance: I;
  #isOpen = true;

  constructor(
    private readonly node: N,
    private readonly startedAt: number,
    private readonly learn: Learn<N>,
    readonly isForced?: boolean,
  ) {
    this.instance = node.instance;
    node.inFlight++;
  }

  done(outcome: CallOutcome): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.node.inFlight--;
    this.learn(this.node, this.startedAt, outcome);
  }

  abandon(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.node.inFlight--;
  }
}

/** The nodes of `instances`, in their order: those there were, by address, and new ones. */
export function keepNodes<I extends Candidate, N extends CountedNode<I>>(
  nodes: readonly N[],
  instances: readonly I[],
  create: (instance: I) => N,
): N[] {
  const known = new Map(nodes.map((node) => [node.instance.address, node]));
  return distinct(instances).map((instance) => {
    const node = known.get(instance.address);
    if (node === undefined) return create(instance);
    node.instance = instance;
    return node;
  });
}

const addressOf = ({ instance }: CountedNode<Candidate>): string => instance.address;

/** The nodes that are not to be avoided; all of them when none is left. */
export function nodesLeft<I extends Candidate, N extends CountedNode<I>>(
  nodes: readonly N[],
  avoid: PickOptions['avoid'],
): readonly N[] {
  return leftOf(nodes, avoid, addressOf);
}

/** Of a policy that knows the calls in flight and nothing else. */
export function viewOfInFlight({ instance: { address }, inFlight }: CountedNode<Candidate>): InstanceView {
  return { address, inFlight, latencyMs: null, success: null, load: inFlight };
}

export const learnNothing = (): void => {};
