import type { ServedClient } from './client.js';

/**
 * Names of clients, no two of one service and policy the same. Whoever counts keeps its name for its life, also while nobody serves
 * it: a channel that comes back from idleness goes on with its counts, and so with its series.
 */
export class ClientNames {
  /** Who has each number, by service, policy and name. A number whose owner is gone is free. */
  readonly #owners = new Map<string, WeakRef<object>[]>();

  of({ service, policy, client, counting }: ServedClient): string {
    const identity = JSON.stringify([service, policy, client]);
    const owners = this.#owners.get(identity) ?? [];
    this.#owners.set(identity, owners);
    let index = owners.findIndex((owner) => owner.deref() === counting);
    if (index < 0) {
      const free = owners.findIndex((owner) => owner.deref() === undefined);
      index = free < 0 ? owners.length : free;
      owners[index] = new WeakRef(counting);
    }
    return index === 0 ? client : `${client}-${index + 1}`;
  }
}
