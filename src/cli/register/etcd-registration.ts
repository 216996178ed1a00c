import { type DiscoveryPorts, systemPorts, unstableMs } from '../../core/discovery/ports.js';
import { Publisher, type PublisherChange } from '../../core/discovery/publisher.js';
import type { PublisherOptions } from '../../core/discovery/publisher-options.js';
import type { Etcd } from '../../core/etcd/port.js';
import { sleep } from '../../core/model/clock.js';
import { isLbctlError, LbctlError, messageOf } from '../../core/model/errors.js';
import type { Registration } from './hold.js';

export interface RegistrationChange {
  readonly state: string;
  readonly detail: string;
  /** Empty and 0n while there is none. */
  readonly key: string;
  readonly lease: bigint;
}

/** etcd may be back any moment: what it was asked meanwhile is asked again after about a second. */
const retryMs = 1000;
const retryDeviation = 0.05;

/**
 * A Publisher that also waits for the first answer: etcd may be down when a service starts. What no waiting mends (a wrong
 * password, a certificate, an id that somebody else has) is a refusal.
 */
export class EtcdRegistration implements Registration {
  readonly #etcd: Etcd;
  readonly #options: PublisherOptions;
  readonly #tell: (change: RegistrationChange) => void;
  readonly #ports: DiscoveryPorts;
  readonly #stopping = new AbortController();
  #publisher: Publisher | null = null;
  #withdrawn: string | null = null;

  constructor(
    etcd: Etcd,
    options: PublisherOptions,
    tell: (change: RegistrationChange) => void,
    ports: DiscoveryPorts = systemPorts,
  ) {
    this.#etcd = etcd;
    this.#options = options;
    this.#tell = tell;
    this.#ports = ports;
  }

  get isUp(): boolean {
    const state = this.#publisher?.state;
    return state === 'registered' || (state === 'recovering' && this.#withdrawn === null);
  }

  start(refused: (error: unknown) => void): void {
    this.#run().catch(refused);
  }

  withdraw(reason: string): void {
    this.#withdrawn = reason;
    void this.#publisher?.pause(reason);
  }

  restore(): void {
    this.#withdrawn = null;
    void this.#publisher?.resume();
  }

  async stop(timeoutMs: number): Promise<void> {
    this.#stopping.abort();
    const publisher = this.#publisher;
    if (!publisher) return;
    const { key } = publisher;
    const { released } = await publisher.stop({ timeoutMs });
    if (!released) {
      throw new LbctlError('ETCD_OUTCOME_UNKNOWN', 'etcd did not confirm in time that the registration is gone', {
        suggestions: [`It goes by itself when its lease runs out: lbctl list ${this.#options.service}`],
      });
    }
    if (key !== '') this.#tell({ state: 'deregistered', detail: `${key} is gone`, key, lease: 0n });
  }

  async #run(): Promise<void> {
    const { clock, rng } = this.#ports;
    const { signal } = this.#stopping;
    let told = '';
    while (!signal.aborted) {
      const publisher = this.#publish();
      try {
        await publisher.start();
        await publisher.ended();
        if (publisher.error) throw publisher.error;
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!isTransient(error)) throw error;
        const detail = [messageOf(error), ...error.suggestions].join(' → ');
        if (detail !== told) this.#tell({ state: 'trying', detail, key: '', lease: 0n });
        told = detail;
      }
      await sleep(clock, unstableMs(retryMs, retryDeviation, rng), signal);
    }
  }

  #publish(): Publisher {
    const publisher = new Publisher(this.#etcd, this.#options, this.#ports);
    this.#publisher = publisher;
    publisher.onState((change) => this.#onState(change));
    publisher.onWarning((detail) =>
      this.#tell({ state: 'warning', detail, key: publisher.key, lease: publisher.leaseId }),
    );
    if (this.#withdrawn !== null) void publisher.pause(this.#withdrawn);
    return publisher;
  }

  #onState({ state, reason, key, lease }: PublisherChange): void {
    // Before the first success it is `trying` that speaks, at the end `stop()`.
    if (state === 'registering' || state === 'stopped' || key === '') return;
    if (state === 'paused' && this.#withdrawn !== null) {
      this.#tell({ state: 'withdrawn', detail: this.#withdrawn, key, lease });
    } else this.#tell({ state, detail: reason, key, lease });
  }
}

const transient = [
  'ETCD_UNREACHABLE',
  'ETCD_TIMEOUT',
  'ETCD_OUTCOME_UNKNOWN',
  'ETCD_NO_QUORUM',
  'ETCD_TOKEN_INVALID',
  'ETCD_COMPACTED',
  'LEASE_NOT_FOUND',
  'LEASE_EXISTS',
  'LEASE_LOST',
] as const;

function isTransient(error: unknown): error is LbctlError {
  return isLbctlError(error, ...transient);
}
