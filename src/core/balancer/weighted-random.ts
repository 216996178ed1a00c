import type { Rng } from '../model/clock.js';
import { type Balancer, type Candidate, distinct, type Picked, type PickOptions, picked } from './balancer.js';
import { WeightIntervals } from './weight-intervals.js';

/** In proportion to the weights. */
export class WeightedRandom<I extends Candidate> implements Balancer<I> {
  #intervals = new WeightIntervals<I>([]);

  constructor(private readonly rng: Rng) {}

  update(instances: readonly I[]): void {
    this.#intervals = new WeightIntervals(distinct(instances));
  }

  pick(options?: PickOptions): Picked<I> {
    const intervals = this.#intervals.left(options);
    return picked(intervals.at(this.rng() * intervals.total));
  }
}
