import {
  type Balancer,
  type Candidate,
  distinct,
  noInstance,
  type Picked,
  type PickOptions,
  picked,
} from './balancer.js';

/**
 * One after the other, starting with the first: whoever was picked longest ago. Those that join queue behind.
 *
 * A queue and no counter: with one, the retries of calls to a dead instance all fall on the same neighbour, and calls that
 * go now to this zone and now to that one do not take turns in either.
 */
export class RoundRobin<I extends Candidate> implements Balancer<I> {
  /** In order of their turns, which begin at `#head` and wrap. */
  #queue: I[] = [];
  #head = 0;

  update(instances: readonly I[]): void {
    const joining = new Map(distinct(instances).map((instance) => [instance.address, instance]));
    const queue: I[] = [];
    for (let i = 0; i < this.#queue.length; i++) {
      const address = this.#at(i)?.address ?? '';
      const instance = joining.get(address);
      if (instance === undefined) continue;
      queue.push(instance);
      joining.delete(address);
    }
    this.#queue = [...queue, ...joining.values()];
    this.#head = 0;
  }

  pick(options?: PickOptions): Picked<I> {
    if (options?.avoid !== undefined) this.#bringForward(options.avoid);
    const instance = this.#queue[this.#head];
    if (instance === undefined) throw noInstance();
    this.#head++;
    if (this.#head === this.#queue.length) this.#head = 0;
    return picked(instance);
  }

  /** Lets the first that is not to be avoided, if there is one, overtake those before it. */
  #bringForward(avoid: (address: string) => boolean): void {
    const size = this.#queue.length;
    for (let turn = 0; turn < size; turn++) {
      const instance = this.#at(turn);
      if (instance === undefined || avoid(instance.address)) continue;
      for (let i = turn; i > 0; i--) this.#queue[(this.#head + i) % size] = this.#at(i - 1) ?? instance;
      this.#queue[this.#head] = instance;
      return;
    }
  }

  #at(turn: number): I | undefined {
    return this.#queue[(this.#head + turn) % this.#queue.length];
  }
}
