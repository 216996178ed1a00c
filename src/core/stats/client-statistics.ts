import type { PickTrace } from '../balancer/comparisons.js';
import { thisProcess } from '../host/this-process.js';
import { type Clock, systemClock } from '../model/clock.js';
import type { ServedClient } from './export/client.js';
import { type Serving, serveStatistics } from './export/servers.js';
import type { ClientFigures, InstanceFigures } from './figures.js';
import type { InstanceTotals } from './instance-counts.js';

/** What counts for a client. */
export interface Counting {
  figures(): readonly InstanceFigures[];
  totals(): readonly InstanceTotals[];
  trace(address: string, limit: number): readonly PickTrace[];
}

/** Who a client is. */
export interface ClientIdentity {
  /** The id of its observer record; empty without one. */
  readonly id: string;
  /** Its name, for people. */
  readonly client: string;
  readonly service: string;
}

const traceLimit = 16;

/** The statistics of one channel, and where they are served: nowhere until `serve`. */
export class ClientStatistics implements ServedClient {
  readonly policy: string;
  readonly counting: Counting;
  readonly #clock: Clock;
  #identity: ClientIdentity;
  #serving: Serving | null = null;
  #isEnded = false;
  #address = '';
  #onAddress = () => {};

  constructor(policy: string, counting: Counting, clock: Clock = systemClock) {
    const { host, pid } = thisProcess();
    this.policy = policy;
    this.counting = counting;
    this.#clock = clock;
    this.#identity = { id: '', client: `${host}-${pid}`, service: '' };
  }

  get service(): string {
    return this.#identity.service;
  }

  get client(): string {
    return this.#identity.client;
  }

  /** What is known of who this is; what is not given stays. */
  identify(known: Partial<ClientIdentity>): void {
    this.#identity = { ...this.#identity, ...known };
  }

  /** Serves them on this `host:port` from now on, unless they are served already; one `onWarning` of those who share the address is told when that fails. */
  serve(listenOn: string, onWarning?: (warning: string) => void): void {
    if (this.#serving !== null || this.#isEnded) return;
    this.#serving = serveStatistics(listenOn, this, {
      listening: (address) => {
        this.#address = address;
        this.#onAddress();
      },
      failed: onWarning ?? null,
    });
  }

  /** `host:port` at which readers reach them; empty while they cannot. */
  get address(): string {
    return this.#address;
  }

  /** `listener` is called when the address is known, in the place of the one before it. */
  onAddress(listener: () => void): void {
    this.#onAddress = listener;
  }

  /** The list of instances has changed. */
  listChanged(): void {
    this.#serving?.changed();
  }

  /** Idempotent. */
  end(): void {
    this.#isEnded = true;
    this.#serving?.end();
    this.#serving = null;
    this.#address = '';
  }

  figures(traceOf: string | null): ClientFigures {
    return {
      ...this.#identity,
      ...thisProcess(),
      policy: this.policy,
      at: new Date(this.#clock.now()).toISOString(),
      instances: this.counting.figures(),
      trace: traceOf === null ? [] : this.counting.trace(traceOf, traceLimit),
    };
  }

  totals(): readonly InstanceTotals[] {
    return this.counting.totals();
  }
}
