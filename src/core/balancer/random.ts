import type { Rng } from '../model/clock.js';
import { type Balancer, type Candidate, distinct, type Picked, picked } from './balancer.js';

/** Uniform over the instances. */
export class Random<I extends Candidate> implements Balancer<I> {
  #instances: readonly I[] = [];

  constructor(private readonly rng: Rng) {}

  update(instances: readonly I[]): void {
    this.#instances = distinct(instances);
  }

  pick(): Picked<I> {
    return picked(this.#instances[Math.floor(this.rng() * this.#instances.length)]);
  }
}
