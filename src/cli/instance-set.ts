import type { ServiceEvent } from '../core/discovery/observe.js';
import type { Instance } from '../core/model/instance.js';

export interface Totals {
  readonly up: number;
  readonly paused: number;
}

/** The instances of a service as the events so far leave them. */
export class InstanceSet {
  readonly #byKey = new Map<string, Instance>();
  #up = 0;

  apply({ type, instance }: ServiceEvent): void {
    if (!instance) return;
    this.#delete(nameOf(instance));
    if (type === 'REMOVED') return;
    // It may come back under a new key: what was parked at its address is this one.
    if (type === 'RESUMED') this.#unpark(instance.address);
    this.#byKey.set(nameOf(instance), instance);
    if (instance.admin === 'up') this.#up++;
  }

  get totals(): Totals {
    return { up: this.#up, paused: this.#byKey.size - this.#up };
  }

  /** By address and then key, as `list` shows them. */
  instances(): readonly Instance[] {
    return [...this.#byKey.values()].sort((a, b) => compare(a.address, b.address) || compare(a.key, b.key));
  }

  #delete(name: string): void {
    if (this.#byKey.get(name)?.admin === 'up') this.#up--;
    this.#byKey.delete(name);
  }

  #unpark(address: string): void {
    for (const [name, instance] of this.#byKey) {
      if (instance.admin === 'paused' && instance.address === address) this.#delete(name);
    }
  }
}

/** A pause record whose key is not known still has its address. */
function nameOf(instance: Instance): string {
  return instance.key === '' ? `address ${instance.address}` : instance.key;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
