import type { Clock, Rng } from '../model/clock.js';
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

const tauNs = 600e6;
const forcePickNs = 3e9;
const initialSuccess = 1000;
/** Load of a call where no answer has come yet. */
const penalty = 100_000;
/** Evens out the latency between zones. */
const zoneGapNs = 5e6;
/** A computed weight is used for this long. */
const weightKeptNs = 5e6;
/** DEADLINE_EXCEEDED and UNAVAILABLE: what kratos takes for its 504 and 503. A cancelled call it does not recognise as one. */
const failures: ReadonlySet<number> = new Set([4, 14]);

interface Node<I extends Candidate> extends CountedNode<I> {
  lagNs: number;
  success: number;
  lastDoneNs: number;
  lastPickNs: number;
  weight: number;
  weighedAtNs: number;
  /** Picks of it although the other one had the greater weight. */
  forcePicks: number;
  /** When the calls in flight began, ns. */
  readonly startsNs: Map<Picked<I>, number>;
}

/**
 * What kratos's clients do: two at random, the one with the greater success per load. Here so that a kratos service can be
 * shown as its clients see it.
 * Source: kratos v2.8.3, selector/p2c/p2c.go and selector/node/ewma/node.go
 */
export class KratosP2c<I extends Candidate> implements Balancer<I> {
  #nodes: Node<I>[] = [];
  readonly #comparisons: Comparisons;
  /** Of the pick under way. */
  #isForced = false;

  constructor(
    private readonly clock: Clock,
    private readonly rng: Rng,
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
      weight: 0,
      weighedAtNs: Number.NEGATIVE_INFINITY,
      forcePicks: 0,
      startsNs: new Map(),
    }));
  }

  pick(options?: PickOptions): Picked<I> {
    const nodes = nodesLeft<I, Node<I>>(this.#nodes, options?.avoid);
    const nowNs = this.#nowNs();
    this.#isForced = false;
    const node = this.#choose(nodes, nowNs);
    node.lastPickNs = nowNs;
    const call = new KratosCall<I>(node, nowNs, this.#learn, this.#isForced);
    node.startsNs.set(call, nowNs);
    return call;
  }

  inspect(): InstanceView[] {
    const nowNs = this.#nowNs();
    return this.#nodes.map((node) => ({
      address: node.instance.address,
      inFlight: node.inFlight,
      latencyMs: node.lagNs === 0 ? null : node.lagNs / 1e6,
      success: node.success / initialSuccess,
      load: loadOf(node, nowNs),
      forcePicks: node.forcePicks,
    }));
  }

  /** Loads are those that were compared: with the successes counted in. */
  trace(address: string, limit: number): PickTrace[] {
    return this.#comparisons.of(address, limit);
  }

  #choose(nodes: readonly Node<I>[], nowNs: number): Node<I> {
    const [first, second] = nodes;
    if (first === undefined) throw noInstance();
    if (second === undefined) {
      this.#comparisons.alone(nowNs / 1e6, first, comparedLoad(weigh(first, nowNs)));
      return first;
    }
    const a = Math.floor(this.rng() * nodes.length);
    const other = Math.floor(this.rng() * (nodes.length - 1));
    const one = nodes[a] ?? first;
    const two = nodes[other >= a ? other + 1 : other] ?? second;
    const oneWeight = weigh(one, nowNs);
    const twoWeight = weigh(two, nowNs);
    const isSecond = twoWeight > oneWeight;
    const loser = isSecond ? one : two;
    const isForced = nowNs - loser.lastPickNs > forcePickNs;
    if (isForced) loser.forcePicks++;
    this.#isForced = isForced;
    const isSecondChosen = isSecond !== isForced;
    this.#comparisons.pair(
      nowNs / 1e6,
      one,
      comparedLoad(oneWeight),
      two,
      comparedLoad(twoWeight),
      isSecondChosen,
      isForced,
    );
    return isSecondChosen ? two : one;
  }

  readonly #learn = (node: Node<I>, startedAtNs: number, { code }: CallOutcome): void => {
    const nowNs = this.#nowNs();
    const kept = node.lagNs === 0 ? 0 : Math.exp(-Math.max(0, nowNs - node.lastDoneNs) / tauNs);
    node.lastDoneNs = nowNs;
    const sampleNs = Math.max(0, nowNs - startedAtNs);
    node.lagNs = Math.trunc(node.lagNs * kept + sampleNs * (1 - kept));
    node.success = Math.trunc(node.success * kept + (failures.has(code) ? 0 : initialSuccess) * (1 - kept));
  };

  #nowNs(): number {
    return Math.round(this.clock.monotonic() * 1e6);
  }
}

/** An open call that also takes its start from the ages of the calls in flight when it ends. */
class KratosCall<I extends Candidate> extends OpenCall<I, Node<I>> {
  constructor(
    private readonly of: Node<I>,
    startedAtNs: number,
    learn: (node: Node<I>, startedAtNs: number, outcome: CallOutcome) => void,
    isForced: boolean,
  ) {
    super(of, startedAtNs, learn, isForced);
  }

  override done(outcome: CallOutcome): void {
    this.of.startsNs.delete(this);
    super.done(outcome);
  }

  override abandon(): void {
    this.of.startsNs.delete(this);
    super.abandon();
  }
}

function weigh<I extends Candidate>(node: Node<I>, nowNs: number): number {
  if (nowNs - node.weighedAtNs > weightKeptNs) {
    node.weight = (node.success * 10_000) / loadOf(node, nowNs);
    node.weighedAtNs = nowNs;
  }
  return node.weight;
}

/** What weighs as much without a failure. The greater weight has the lower load; without a success there is no weight. */
function comparedLoad(weight: number): number {
  return (initialSuccess * 10_000) / Math.max(weight, 1e-9);
}

function loadOf<I extends Candidate>(node: Node<I>, nowNs: number): number {
  // kratos counts from one, so that an idle node has a load.
  const inFlight = node.inFlight + 1;
  if (node.lagNs === 0) return penalty * inFlight;
  const lagNs = Math.max(node.lagNs, predictedNs(node, nowNs)) + zoneGapNs;
  return Math.trunc(Math.sqrt(lagNs)) * inFlight;
}

/** The mean age of the calls that have already taken longer than the average, when they are more than half; else 0. */
function predictedNs<I extends Candidate>({ startsNs, lagNs }: Node<I>, nowNs: number): number {
  let [slow, totalNs] = [0, 0];
  for (const startNs of startsNs.values()) {
    if (nowNs - startNs <= lagNs) continue;
    slow++;
    totalNs += nowNs - startNs;
  }
  return slow > 0 && slow >= Math.trunc(startsNs.size / 2) + 1 ? Math.trunc(totalNs / slow) : 0;
}
