import { checkServiceName } from '../dialects/layout.js';
import type { Etcd } from '../etcd/port.js';
import type { Instance } from '../model/instance.js';
import { applyChanges, type InstanceChange } from './changes.js';
import { type Batch, Follower } from './follow.js';
import { type DiscoveryPorts, systemPorts } from './ports.js';
import {
  type DiscoveryOptions,
  deniedWarnings,
  neededRanges,
  type ServiceRange,
  serviceRanges,
} from './service-ranges.js';
import { ServiceState } from './service-state.js';

export interface ClusterListener {
  /** Once, first: everything there is, in and out of rotation. */
  current(instances: readonly Instance[], revision: bigint, warnings: readonly string[]): void;
  /** One batch; removals first within each revision. `reload` says why only a difference is known. */
  changed(changes: readonly InstanceChange[], revision: bigint, reload: string | null): void;
  /** Something changed and is told within 150 ms: whoever waits for it may look already. */
  arriving?(): void;
  /** One batch that changed nothing of what is told of instances. */
  seen?(revision: bigint): void;
  stale?(reason: string): void;
  live?(): void;
}

/** One listener's part in the watch of a service, which others may share. */
export interface Membership {
  /** Milliseconds since etcd was last heard; null while it is heard. */
  readonly staleForMs: number | null;
  /** Leaves; the last one to leave ends the watch. No listener is called afterwards. */
  close(): Promise<void>;
}

/** Per connection and service: one load, one watch, any number of listeners. */
const clusters = new WeakMap<Etcd, Map<string, Cluster>>();

/**
 * Follows a service. Listeners of the same service and options on one connection share one watch.
 * @throws USAGE for a name that cannot be; ETCD_* when the first load fails. Later failures mark it stale, no more.
 */
export async function joinCluster(
  etcd: Etcd,
  service: string,
  listener: ClusterListener,
  options: DiscoveryOptions = {},
  ports: DiscoveryPorts = systemPorts,
): Promise<Membership> {
  checkServiceName(service);
  const { prefixes = {}, dialect, overlayRoot, exactMatch } = options;
  const name = JSON.stringify([service, Object.entries(prefixes).sort(), dialect, overlayRoot, exactMatch ?? false]);
  const shared = clusters.get(etcd) ?? new Map<string, Cluster>();
  clusters.set(etcd, shared);
  let cluster = shared.get(name);
  if (!cluster) {
    const created: Cluster = new Cluster(etcd, service, options, ports, () => {
      if (shared.get(name) === created) shared.delete(name);
    });
    shared.set(name, created);
    cluster = created;
  }
  return cluster.join(listener);
}

class Cluster {
  readonly #follower: Follower;
  readonly #ranges: readonly ServiceRange[];
  readonly #state: ServiceState;
  readonly #listeners = new Set<ClusterListener>();
  readonly #forget: () => void;
  #started: Promise<void> | null = null;
  #users = 0;
  #loaded = false;
  /** Of the last batch: what has arrived and waits for its companions is no part of the state yet. */
  #revision = 0n;

  constructor(etcd: Etcd, service: string, options: DiscoveryOptions, ports: DiscoveryPorts, forget: () => void) {
    this.#ranges = serviceRanges(service, options);
    this.#state = new ServiceState(service, options);
    this.#forget = forget;
    this.#follower = new Follower(
      etcd,
      { ranges: this.#ranges.map((range) => range.range), needed: neededRanges(this.#ranges) },
      {
        batch: (batch) => this.#batch(batch),
        arriving: () => this.#tell((listener) => listener.arriving?.()),
        stale: (reason) => this.#tell((listener) => listener.stale?.(reason)),
        live: () => this.#tell((listener) => listener.live?.()),
      },
      ports,
    );
  }

  async join(listener: ClusterListener): Promise<Membership> {
    this.#users++;
    try {
      this.#started ??= this.#follower.start();
      await this.#started;
    } catch (error) {
      await this.#leave();
      throw error;
    }
    const warnings = deniedWarnings(this.#ranges, this.#follower.denied);
    listener.current(this.#state.instances(), this.#revision, warnings);
    this.#listeners.add(listener);
    if (this.#follower.staleForMs !== null) listener.stale?.('etcd has not been heard for a while');
    let left: Promise<void> | null = null;
    const follower = this.#follower;
    return {
      get staleForMs() {
        return follower.staleForMs;
      },
      close: () => {
        this.#listeners.delete(listener);
        left ??= this.#leave();
        return left;
      },
    };
  }

  async #leave(): Promise<void> {
    this.#users--;
    if (this.#users > 0) return;
    // Forgotten first: whoever comes now gets a cluster of its own instead of one that is ending.
    this.#forget();
    await this.#follower.close();
  }

  #batch({ changes, revision, how, reason }: Batch): void {
    const found = applyChanges(this.#state, this.#ranges, changes, how === 'events' ? null : revision);
    this.#revision = revision;
    if (!this.#loaded) {
      this.#loaded = true;
      return;
    }
    const reload = how === 'reload' ? reason : null;
    if (found.length > 0 || reload !== null) {
      this.#tell((listener) => listener.changed(found, revision, reload));
    } else {
      this.#tell((listener) => listener.seen?.(revision));
    }
  }

  #tell(what: (listener: ClusterListener) => void): void {
    for (const listener of [...this.#listeners]) what(listener);
  }
}
