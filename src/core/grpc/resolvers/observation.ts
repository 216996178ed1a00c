import type { Etcd } from '../../etcd/port.js';
import { systemClock, type Timer } from '../../model/clock.js';
import { Observer } from '../../stats/observer.js';
import type { Spread } from '../applied.js';

/**
 * A revision that changes nothing for calls is mostly followed by one that does: a pause record by the leaving of its
 * instance. Told at once, it would hold up the other one, which is waited for, by the second between two writes.
 */
const noNewsMs = 500;

const ending = new Set<Promise<void>>();

/**
 * Resolves when no record of a channel that was closed is left, at most a second after it was: for who ends the process
 * itself. Otherwise nothing needs to wait for it.
 */
export async function observationsEnded(): Promise<void> {
  await Promise.all(ending);
}

/** Where statistics are served that nobody said anything of: readers of other machines need to be told to come. */
const loopback = '127.0.0.1:0';

interface ObservationOptions {
  readonly client?: string;
  readonly overlayRoot?: string;
  readonly statistics?: string | false;
  readonly onWarning?: (warning: string) => void;
}

/** The observer record of one channel: from the first list that its load balancer has applied to the end. */
export class Observation {
  readonly #etcd: Etcd;
  readonly #service: string;
  readonly #options: ObservationOptions;
  #observer: Observer | null = null;
  #spread: Spread | null = null;
  #revision = 0n;
  #noNews: Timer | null = null;

  constructor(etcd: Etcd, service: string, options: ObservationOptions) {
    this.#etcd = etcd;
    this.#service = service;
    this.#options = options;
  }

  /** `spread` picks from nothing any more that had left at `revision`. */
  applied(revision: bigint, spread: Spread, isNews: boolean): void {
    this.#revision = revision;
    const isOther = spread.statistics !== this.#spread?.statistics;
    if (isOther) spread.balancer.onLeaving(() => this.#observer?.changed());
    this.#spread = spread;
    const { statistics, ...options } = this.#options;
    this.#observer ??= new Observer(this.#etcd, this.#service, {
      ...options,
      policy: spread.policy,
      applied: () => this.#revision,
      inFlight: () => this.#spread?.balancer.leaving() ?? new Map(),
      statistics: () => this.#spread?.statistics.address ?? '',
    });
    if (isOther) {
      const { id, client } = this.#observer;
      spread.statistics.identify({ id, client });
      spread.statistics.onAddress(() => this.#observer?.changed());
      // What was said to be served elsewhere is so already.
      if (statistics === undefined) spread.statistics.serve(loopback, this.#options.onWarning);
    }
    this.#observer.start();
    if (isNews) this.#tell();
    else this.#noNews ??= systemClock.timer(noNewsMs, () => this.#tell(), { background: true });
  }

  #tell(): void {
    this.#noNews?.cancel();
    this.#noNews = null;
    this.#observer?.changed();
  }

  /** Within a second, whatever etcd does. */
  async stop(): Promise<void> {
    if (this.#observer === null) return;
    this.#noNews?.cancel();
    const stopped = this.#observer.stop();
    ending.add(stopped);
    await stopped;
    ending.delete(stopped);
  }
}
