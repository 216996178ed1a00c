import { type Candidate, instancesLeft, type PickOptions, weightOf } from './balancer.js';

/** Instances laid end to end on [0, total), each as long as its weight: the list of every weighted policy, unexpanded. */
export class WeightIntervals<I extends Candidate> {
  readonly total: number;
  readonly #ends: number[] = [];

  constructor(readonly instances: readonly I[]) {
    let end = 0;
    for (const instance of instances) {
      end += weightOf(instance);
      this.#ends.push(end);
    }
    this.total = end;
  }

  /** The same without the instances that are to be avoided. */
  left(options: PickOptions | undefined): WeightIntervals<I> {
    const left = instancesLeft(this.instances, options);
    return left === this.instances ? this : new WeightIntervals(left);
  }

  /** The instance whose interval holds `offset`; undefined outside of [0, total). */
  at(offset: number): I | undefined {
    let low = 0;
    let high = this.#ends.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ends[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return this.instances[low];
  }
}
