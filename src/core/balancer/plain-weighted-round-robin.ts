import { type Balancer, type Candidate, distinct, type Picked, type PickOptions, picked } from './balancer.js';
import { WeightIntervals } from './weight-intervals.js';

/** Each instance as often in a row as its weight says: A:B:C = 1:2:3 gives A B B C C C. */
export class PlainWeightedRoundRobin<I extends Candidate> implements Balancer<I> {
  #intervals = new WeightIntervals<I>([]);
  #counter = 0;

  update(instances: readonly I[]): void {
    this.#intervals = new WeightIntervals(distinct(instances));
  }

  pick(options?: PickOptions): Picked<I> {
    const intervals = this.#intervals.left(options);
    const result = picked(intervals.at(this.#counter % intervals.total));
    this.#counter++;
    return result;
  }
}
