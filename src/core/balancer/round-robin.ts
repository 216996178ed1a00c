import { type Balancer, type Candidate, distinct, type Picked, picked } from './balancer.js';

/** One after the other, starting with the first: counter mod n. The counter goes on over updates. */
export class RoundRobin<I extends Candidate> implements Balancer<I> {
  #instances: readonly I[] = [];
  #counter = 0;

  update(instances: readonly I[]): void {
    this.#instances = distinct(instances);
  }

  pick(): Picked<I> {
    const result = picked(this.#instances[this.#counter % this.#instances.length]);
    this.#counter++;
    return result;
  }
}
