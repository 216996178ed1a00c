import { joinCluster, type Membership } from '../discovery/cluster.js';
import { backOffMs, type DiscoveryPorts } from '../discovery/ports.js';
import { readState } from '../discovery/read.js';
import type { DiscoveryOptions } from '../discovery/service-ranges.js';
import type { ServiceState } from '../discovery/service-state.js';
import type { Etcd } from '../etcd/port.js';
import { sleep } from '../model/clock.js';
import { messageOf } from '../model/errors.js';
import type { Instance } from '../model/instance.js';

/** A service as etcd has it at one moment. */
export interface Look {
  readonly state: ServiceState;
  readonly instances: readonly Instance[];
  readonly revision: bigint;
}

export interface NotFound {
  readonly found: undefined;
  /** `time`: etcd was asked last thing and it was not so. `etcd`: nobody knows, it does not answer. */
  readonly why: 'time' | 'etcd' | 'signal';
  readonly detail: string;
}

/** The watch says when to look; should it be silent for any reason, somebody looks all the same. */
const lookAnywayMs = 1000;
const lastLookMs = 1000;

/**
 * Looks at a service, linearizably, whenever something about it changes. Outages of etcd are only time that passes: what
 * was written before stands. Open it before the write whose effect is waited for.
 */
export class Looking {
  readonly #etcd: Etcd;
  readonly #service: string;
  readonly #options: DiscoveryOptions;
  readonly #ports: DiscoveryPorts;
  readonly #closing = new AbortController();
  readonly #membership: Promise<Membership | null>;
  readonly #waiting = new Set<() => void>();
  #changes = 0;

  constructor(etcd: Etcd, service: string, options: DiscoveryOptions, ports: DiscoveryPorts) {
    this.#etcd = etcd;
    this.#service = service;
    this.#options = options;
    this.#ports = ports;
    this.#membership = this.#join();
  }

  /**
   * Resolves with what `test` finds, as soon as it finds something (anything but undefined), or with why it did not within
   * that time. @throws what `test` throws.
   */
  async until<T>(
    test: (look: Look) => T | undefined,
    { withinMs, signal }: { withinMs: number; signal?: AbortSignal | undefined },
  ): Promise<{ readonly found: T } | NotFound> {
    const ending = new AbortController();
    const end = () => ending.abort();
    const timer = this.#ports.clock.timer(withinMs, end);
    const outside = [this.#closing.signal, ...(signal ? [signal] : [])];
    for (const one of outside) one.addEventListener('abort', end, { once: true });
    try {
      for (let failures = 0; !ending.signal.aborted && !outside.some((one) => one.aborted); ) {
        const seen = this.#changes;
        const look = await this.#look({ signal: ending.signal }).catch(() => null);
        if (look) {
          failures = 0;
          const found = test(look);
          if (found !== undefined) return { found };
          await this.#changed(seen, ending.signal);
        } else {
          await sleep(this.#ports.clock, backOffMs(failures++, this.#ports.rng), ending.signal);
        }
      }
    } finally {
      timer.cancel();
      for (const one of outside) one.removeEventListener('abort', end);
    }
    if (outside.some((one) => one.aborted)) return { found: undefined, why: 'signal', detail: 'interrupted' };
    let last: Look;
    try {
      last = await this.#look({ timeoutMs: lastLookMs });
    } catch (error) {
      return { found: undefined, why: 'etcd', detail: messageOf(error) };
    }
    const found = test(last);
    return found === undefined ? { found: undefined, why: 'time', detail: '' } : { found };
  }

  /** Ends the watch and every wait. */
  async close(): Promise<void> {
    this.#closing.abort();
    await (await this.#membership)?.close();
  }

  async #look(call: { signal?: AbortSignal; timeoutMs?: number }): Promise<Look> {
    const { state, revision } = await readState(this.#etcd, this.#service, { ...this.#options, ...call });
    return { state, revision, instances: state.instances() };
  }

  async #changed(seen: number, signal: AbortSignal): Promise<void> {
    if (this.#changes !== seen) return;
    const either = new AbortController();
    const wake = () => either.abort();
    this.#waiting.add(wake);
    signal.addEventListener('abort', wake, { once: true });
    await sleep(this.#ports.clock, lookAnywayMs, either.signal);
    signal.removeEventListener('abort', wake);
    this.#waiting.delete(wake);
  }

  async #join(): Promise<Membership | null> {
    const { signal } = this.#closing;
    const glance = () => {
      this.#changes++;
      for (const wake of [...this.#waiting]) wake();
    };
    const listener = { current: glance, changed: glance, arriving: glance, live: glance };
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        const joined = await joinCluster(this.#etcd, this.#service, listener, this.#options, this.#ports);
        if (!signal.aborted) return joined;
        await joined.close();
      } catch {
        await sleep(this.#ports.clock, backOffMs(attempt, this.#ports.rng), signal);
      }
    }
    return null;
  }
}
