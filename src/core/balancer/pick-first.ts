import {
  type Balancer,
  type Candidate,
  distinct,
  noInstance,
  type Picked,
  type PickOptions,
  picked,
} from './balancer.js';

/** Sticks to the first instance that will do, until it leaves or has to be avoided. */
export class PickFirst<I extends Candidate> implements Balancer<I> {
  #instances: readonly I[] = [];
  #current: I | undefined;

  update(instances: readonly I[]): void {
    const current = this.#current?.address;
    this.#instances = distinct(instances);
    this.#current = this.#instances.find(({ address }) => address === current);
  }

  pick(options?: PickOptions): Picked<I> {
    const avoid = options?.avoid;
    if (this.#current === undefined || avoid?.(this.#current.address)) {
      const next = this.#instances.find(({ address }) => !avoid?.(address)) ?? this.#current ?? this.#instances[0];
      if (next === undefined) throw noInstance();
      this.#current = next;
    }
    return picked(this.#current);
  }
}
