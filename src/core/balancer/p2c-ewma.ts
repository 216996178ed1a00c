import type { Clock, Rng } from '../model/clock.js';
import { isAcceptable } from './acceptable.js';
import {
  type Balancer,
  type CallOutcome,
  type Candidate,
  type InstanceView,
  noInstance,
  type Picked,
  type PickOptions,
} from './balancer.js';
import { Comparisons, type PickTrace } from './comparisons.js';
import { type CountedNode, keepNodes, nodesLeft, OpenCall } from './counted.js';

const decayNs = 10e9;
const forcePickNs = 1e9;
const initialSuccess = 1000;
const throttleSuccess = initialSuccess / 2;
const penalty = 2 ** 31 - 1;
const draws = 3;
const statisticsEveryNs = 60e9;

interface Node<I extends Candidate> extends CountedNode<I> {
  /** Moving average of the latency, ns; 0 before the first answer. */
  lagNs: number;
  /** Moving average of 1000 for an acceptable answer and 0 for another. */
  success: number;
  lastDoneNs: number;
  lastPickNs: number;
  /** Picks since the last statistics line. */
  requests: number;
  /** Picks of it although the other one had the lower load. */
  forcePicks: number;
}

/**
 * Power of two choices on moving averages of latency and success, with the arithmetic, the names and the numbers of
 * go-zero, so that what is seen here is what its clients do. One difference: what was learnt outlives a change of the
 * instances, which go-zero forgets.
 * Source: go-zero v1.10.3, zrpc/internal/balancer/p2c/p2c.go
 */
export class P2cEwma<I extends Candidate> implements Balancer<I> {
  #nodes: Node<I>[] = [];
  /** Long ago, so that the first answer writes a line. */
  #lineAtNs = Number.NEGATIVE_INFINITY;
  readonly #comparisons: Comparisons;
  /** Of the pick under way. */
  #isForced = false;

  constructor(
    private readonly clock: Clock,
    private readonly rng: Rng,
    private readonly onStatistics?: (line: string) => void,
  ) {
    this.#comparisons = new Comparisons(clock);
  }

  update(instances: readonly I[]): void {
    this.#nodes = keepNodes<I, Node<I>>(this.#nodes, instances, (instance) => ({
      instance,
      inFlight: 0,
      lagNs: 0,
      success: initialSuccess,
      lastDoneNs: Number.NEGATIVE_INFINITY,
      lastPickNs: Number.NEGATIVE_INFINITY,
      requests: 0,
      forcePicks: 0,
    }));
  }

  pick(options?: PickOptions): Picked<I> {
    const nodes = nodesLeft<I, Node<I>>(this.#nodes, options?.avoid);
    const nowNs = this.#nowNs();
    this.#isForced = false;
    const node = this.#choose(nodes, nowNs);
    node.lastPickNs = nowNs;
    node.requests++;
    return new OpenCall<I, Node<I>>(node, nowNs, this.#learn, this.#isForced);
  }

  inspect(): InstanceView[] {
    return this.#nodes.map((node) => ({
      address: node.instance.address,
      inFlight: node.inFlight,
      latencyMs: node.lagNs === 0 ? null : node.lagNs / 1e6,
      success: node.success / initialSuccess,
      load: loadOf(node),
      forcePicks: node.forcePicks,
    }));
  }

  trace(address: string, limit: number): PickTrace[] {
    return this.#comparisons.of(address, limit);
  }

  #choose(nodes: readonly Node<I>[], nowNs: number): Node<I> {
    const [first, second] = nodes;
    if (first === undefined) throw noInstance();
    if (second === undefined) {
      this.#comparisons.alone(nowNs / 1e6, first, loadOf(first));
      return first;
    }
    if (nodes.length === 2) return this.#better(first, second, nowNs);
    for (let draw = 1; ; draw++) {
      const a = Math.floor(this.rng() * nodes.length);
      const other = Math.floor(this.rng() * (nodes.length - 1));
      const one = nodes[a] ?? first;
      const two = nodes[other >= a ? other + 1 : other] ?? second;
      if (draw === draws || (isHealthy(one) && isHealthy(two))) return this.#better(one, two, nowNs);
    }
  }

  #better(one: Node<I>, two: Node<I>, nowNs: number): Node<I> {
    const oneLoad = loadOf(one);
    const twoLoad = loadOf(two);
    const isSecond = oneLoad > twoLoad;
    const loser = isSecond ? one : two;
    // A node that nobody picks would never show that it has become fast again.
    const isForced = nowNs - loser.lastPickNs > forcePickNs;
    if (isForced) loser.forcePicks++;
    this.#isForced = isForced;
    const isSecondChosen = isSecond !== isForced;
    this.#comparisons.pair(nowNs / 1e6, one, oneLoad, two, twoLoad, isSecondChosen, isForced);
    return isSecondChosen ? two : one;
  }

  readonly #learn = (node: Node<I>, startedAtNs: number, { code }: CallOutcome): void => {
    const nowNs = this.#nowNs();
    const sinceLastNs = Math.max(0, nowNs - node.lastDoneNs);
    node.lastDoneNs = nowNs;
    // Without an average the first answer is all there is to know.
    const kept = node.lagNs === 0 ? 0 : Math.exp(-sinceLastNs / decayNs);
    const sampleNs = Math.max(0, nowNs - startedAtNs);
    node.lagNs = Math.trunc(node.lagNs * kept + sampleNs * (1 - kept));
    node.success = Math.trunc(node.success * kept + (isAcceptable(code) ? initialSuccess : 0) * (1 - kept));
    if (nowNs - this.#lineAtNs >= statisticsEveryNs) {
      this.#lineAtNs = nowNs;
      this.#tellStatistics();
    }
  };

  #tellStatistics(): void {
    const parts = this.#nodes.map((node) => {
      const { requests } = node;
      node.requests = 0;
      return `conn: ${node.instance.address}, load: ${loadOf(node)}, reqs: ${requests}`;
    });
    this.onStatistics?.(`p2c - ${parts.join('; ')}`);
  }

  #nowNs(): number {
    return Math.round(this.clock.monotonic() * 1e6);
  }
}

function isHealthy({ success }: { readonly success: number }): boolean {
  return success > throttleSuccess;
}

function loadOf({ lagNs, inFlight }: { readonly lagNs: number; readonly inFlight: number }): number {
  const load = Math.trunc(Math.sqrt(lagNs + 1)) * (inFlight + 1);
  return load === 0 ? penalty : load;
}
