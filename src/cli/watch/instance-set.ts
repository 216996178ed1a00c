import type { ServiceEvent } from '../../core/discovery/observe.js';
import { compareText } from '../../core/model/compare.js';
import type { Instance } from '../../core/model/instance.js';

export interface Totals {
  readonly up: number;
  readonly paused: number;
}

/** The instances of a service as the events so far leave them. */
export class InstanceSet {
  readonly #byName = new Map<string, Instance>();
  #up = 0;

  apply({ type, instance, previous }: ServiceEvent): void {
    if (!instance) return;
    // A pause, a resume and a new owner give the same instance a new key.
    if (previous) this.#delete(nameOf(previous));
    this.#delete(nameOf(instance));
    if (type === 'REMOVED') return;
    this.#byName.set(nameOf(instance), instance);
    if (instance.admin === 'up') this.#up++;
  }

  get totals(): Totals {
    return { up: this.#up, paused: this.#byName.size - this.#up };
  }

  /** By address and then key, as `list` shows them. */
  instances(): readonly Instance[] {
    return [...this.#byName.values()].sort((a, b) => compareText(a.address, b.address) || compareText(a.key, b.key));
  }

  #delete(name: string): void {
    if (this.#byName.get(name)?.admin === 'up') this.#up--;
    this.#byName.delete(name);
  }
}

/** A key that is in etcd is one instance; one that is not may be remembered for several addresses. */
function nameOf({ admin, address, key }: Instance): string {
  return admin === 'up' ? key : `${address} ${key}`;
}
