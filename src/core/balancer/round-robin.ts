import {
  type Balancer,
  type Candidate,
  distinct,
  instancesLeft,
  type Picked,
  type PickOptions,
  picked,
} from './balancer.js';

/** One after the other, starting with the first: counter mod n. The counter goes on over updates. */
export class RoundRobin<I extends Candidate> implements Balancer<I> {
  #instances: readonly I[] = [];
  #counter = 0;

  update(instances: readonly I[]): void {
    this.#instances = distinct(instances);
  }

  pick(options?: PickOptions): Picked<I> {
    const instances = instancesLeft(this.#instances, options);
    const result = picked(instances[this.#counter % instances.length]);
    this.#counter++;
    return result;
  }
}
