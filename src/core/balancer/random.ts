import type { Rng } from '../model/clock.js';
import {
  type Balancer,
  type Candidate,
  distinct,
  instancesLeft,
  type Picked,
  type PickOptions,
  picked,
} from './balancer.js';

/** Uniform over the instances. */
export class Random<I extends Candidate> implements Balancer<I> {
  #instances: readonly I[] = [];

  constructor(private readonly rng: Rng) {}

  update(instances: readonly I[]): void {
    this.#instances = distinct(instances);
  }

  pick(options?: PickOptions): Picked<I> {
    const instances = instancesLeft(this.#instances, options);
    return picked(instances[Math.floor(this.rng() * instances.length)]);
  }
}
