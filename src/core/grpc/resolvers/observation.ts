import type { Etcd } from '../../etcd/port.js';
import { Observer } from '../../stats/observer.js';
import type { Spread } from '../applied.js';

const ending = new Set<Promise<void>>();

/**
 * Resolves when no record of a channel that was closed is left, at most a second after it was: for who ends the process
 * itself. Otherwise nothing needs to wait for it.
 */
export async function observationsEnded(): Promise<void> {
  await Promise.all(ending);
}

/** The observer record of one channel: from the first list that its load balancer has applied to the end. */
export class Observation {
  readonly #etcd: Etcd;
  readonly #service: string;
  readonly #options: { readonly client?: string; readonly overlayRoot?: string };
  #observer: Observer | null = null;
  #spread: Spread | null = null;
  #revision = 0n;

  constructor(etcd: Etcd, service: string, options: { readonly client?: string; readonly overlayRoot?: string }) {
    this.#etcd = etcd;
    this.#service = service;
    this.#options = options;
  }

  /** `spread` picks from nothing any more that had left at `revision`. */
  applied(revision: bigint, spread: Spread): void {
    this.#revision = revision;
    if (spread.balancer !== this.#spread?.balancer) spread.balancer.onLeaving(() => this.#observer?.changed());
    this.#spread = spread;
    this.#observer ??= new Observer(this.#etcd, this.#service, {
      ...this.#options,
      policy: spread.policy,
      applied: () => this.#revision,
      inFlight: () => this.#spread?.balancer.leaving() ?? new Map(),
    });
    this.#observer.start();
    this.#observer.changed();
  }

  /** Within a second, whatever etcd does. */
  async stop(): Promise<void> {
    if (this.#observer === null) return;
    const stopped = this.#observer.stop();
    ending.add(stopped);
    await stopped;
    ending.delete(stopped);
  }
}
