import type { Clock } from '../model/clock.js';
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
import { type CountedNode, keepNodes, nodesLeft, OpenCall } from './counted.js';
import { LatencyWindow } from './latency-window.js';

/** What the fastest is told by. */
export const latencyMeasures = ['ewma', 'avg', 'p99'] as const;
/** What `fastest_response` compares: a moving average, or the mean or the 99th percentile of a window. */
export type LatencyMeasure = (typeof latencyMeasures)[number];

export interface FastestResponseOptions {
  /** Default `ewma`. */
  readonly by?: LatencyMeasure;
  /** How long an answer counts: the time constant of the moving average, the length of the window. Default 10,000. */
  readonly windowMs?: number;
}

const defaultWindowMs = 10_000;
const slowest = Number.MAX_VALUE;

interface Node<I extends Candidate> extends CountedNode<I> {
  /** NaN: not known, or too old to be true. */
  latencyMs: number;
  answeredAtMs: number;
  readonly window: LatencyWindow | null;
}

/**
 * The instance that answers fastest. One that is not known, because it is new or was slow so long ago that nobody has asked
 * it since, gets one call at a time until it has answered. Failed calls say nothing about speed: else whoever fails at once
 * would be the fastest.
 */
export class FastestResponse<I extends Candidate> implements Balancer<I> {
  readonly #by: LatencyMeasure;
  readonly #windowMs: number;
  #nodes: Node<I>[] = [];

  constructor(
    private readonly clock: Clock,
    options: FastestResponseOptions = {},
  ) {
    this.#by = options.by ?? 'ewma';
    this.#windowMs = options.windowMs ?? defaultWindowMs;
  }

  update(instances: readonly I[]): void {
    this.#nodes = keepNodes<I, Node<I>>(this.#nodes, instances, (instance) => ({
      instance,
      inFlight: 0,
      latencyMs: Number.NaN,
      answeredAtMs: Number.NEGATIVE_INFINITY,
      window: this.#by === 'ewma' ? null : new LatencyWindow(this.#windowMs),
    }));
  }

  pick(options?: PickOptions): Picked<I> {
    const nowMs = this.clock.monotonic();
    let best: Node<I> | undefined;
    let bestMs = Number.POSITIVE_INFINITY;
    for (const node of nodesLeft<I, Node<I>>(this.#nodes, options?.avoid)) {
      const ms = this.#expectedMs(node, nowMs);
      if (best === undefined || ms < bestMs || (ms === bestMs && node.inFlight < best.inFlight)) {
        best = node;
        bestMs = ms;
      }
    }
    if (best === undefined) throw noInstance();
    return new OpenCall<I, Node<I>>(best, nowMs, this.#learn);
  }

  inspect(): InstanceView[] {
    const nowMs = this.clock.monotonic();
    return this.#nodes.map((node) => {
      const ms = this.#known(node, nowMs) ? node.latencyMs : null;
      return { address: node.instance.address, inFlight: node.inFlight, latencyMs: ms, success: null, load: ms };
    });
  }

  /** Unknown is fastest while nobody is asking there; while somebody is, it is what it was, or slowest. */
  #expectedMs(node: Node<I>, nowMs: number): number {
    if (node.inFlight === 0 && !this.#known(node, nowMs)) return -1;
    return Number.isNaN(node.latencyMs) ? slowest : node.latencyMs;
  }

  #known({ latencyMs, answeredAtMs }: Node<I>, nowMs: number): boolean {
    return !Number.isNaN(latencyMs) && nowMs - answeredAtMs <= this.#windowMs;
  }

  readonly #learn = (node: Node<I>, startedAtMs: number, { code }: CallOutcome): void => {
    const nowMs = this.clock.monotonic();
    const isFirst = Number.isNaN(node.latencyMs) || node.latencyMs === slowest;
    const sinceMs = Math.max(0, nowMs - node.answeredAtMs);
    node.answeredAtMs = nowMs;
    if (!isAcceptable(code)) {
      // Whoever has only failed waits for the window to pass.
      if (isFirst) node.latencyMs = slowest;
      return;
    }
    const sampleMs = Math.max(0, nowMs - startedAtMs);
    if (node.window !== null) {
      node.window.add(sampleMs, nowMs);
      node.latencyMs = this.#by === 'avg' ? node.window.average(nowMs) : node.window.quantile(0.99, nowMs);
    } else if (isFirst) node.latencyMs = sampleMs;
    else {
      const kept = Math.exp(-sinceMs / this.#windowMs);
      node.latencyMs = node.latencyMs * kept + sampleMs * (1 - kept);
    }
  };
}
