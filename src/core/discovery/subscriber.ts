import type { Etcd } from '../etcd/port.js';
import type { Instance } from '../model/instance.js';
import type { InstanceChange } from './changes.js';
import { joinCluster, type Membership } from './cluster.js';
import { Container } from './container.js';
import { type DiscoveryPorts, systemPorts } from './ports.js';
import type { DiscoveryOptions } from './service-ranges.js';

/** How a subscriber sees its service. */
export interface SubscriberOptions extends DiscoveryOptions {
  /** The newest key of an address evicts the older ones: the address leaves with the newest. */
  readonly exclusive?: boolean;
}

/** One client's view of a service: the addresses in rotation, kept current for as long as it is open. */
export class Subscriber {
  /** Name of the service. */
  readonly service: string;
  readonly #etcd: Etcd;
  readonly #options: SubscriberOptions;
  readonly #ports: DiscoveryPorts;
  readonly #container: Container;
  readonly #instances = new Map<string, Instance>();
  readonly #listeners = new Set<(addresses: readonly string[]) => void>();
  readonly #followers = new Set<(revision: bigint) => void>();
  #membership: Promise<Membership> | null = null;
  #joined: Membership | null = null;
  #sorted: readonly Instance[] | null = null;
  #revision = 0n;

  /** Nothing is asked of etcd before `start()`. Several subscribers of one service share one watch. */
  constructor(etcd: Etcd, service: string, options: SubscriberOptions = {}, ports: DiscoveryPorts = systemPorts) {
    this.#etcd = etcd;
    this.service = service;
    this.#options = options;
    this.#ports = ports;
    this.#container = new Container(options);
  }

  /**
   * Resolves with the first set known. May be called again after it failed.
   * @throws USAGE, ETCD_* (see joinCluster).
   */
  async start(): Promise<void> {
    this.#membership ??= joinCluster(
      this.#etcd,
      this.service,
      {
        current: (instances, revision) => this.#current(instances, revision),
        changed: (changes, revision) => this.#changed(changes, revision),
        seen: (revision) => this.#changed([], revision),
      },
      this.#options,
      this.#ports,
    );
    try {
      this.#joined = await this.#membership;
    } catch (error) {
      this.#membership = null;
      throw error;
    }
  }

  /** `host:port` of everything in rotation, sorted; the same array until it changes. Keeps its last value in an outage. */
  addresses(): readonly string[] {
    return this.#container.addresses();
  }

  /** The registrations in rotation, by address and key, unreadable ones left out. */
  instances(): readonly Instance[] {
    this.#sorted ??= [...this.#instances.values()].sort((a, b) =>
      a.address === b.address ? (a.key < b.key ? -1 : 1) : a.address < b.address ? -1 : 1,
    );
    return this.#sorted;
  }

  /** The etcd revision that the view reflects. */
  get revision(): bigint {
    return this.#revision;
  }

  /** Milliseconds since etcd was last heard; null while it is heard. */
  get staleForMs(): number | null {
    return this.#joined?.staleForMs ?? null;
  }

  /**
   * Calls `listener` with the current addresses, now (once started) and whenever the addresses or what is known of the
   * instances changed: once a batch. Returns how to stop it.
   */
  onChange(listener: (addresses: readonly string[]) => void): () => void {
    this.#listeners.add(listener);
    if (this.#joined) listener(this.addresses());
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Calls `listener` with `revision`, now (once started) and after each batch of etcd's, those included that changed nothing
   * of what this view shows. Returns how to stop it.
   */
  onRevision(listener: (revision: bigint) => void): () => void {
    this.#followers.add(listener);
    if (this.#joined) listener(this.#revision);
    return () => void this.#followers.delete(listener);
  }

  /** Ends it; the last view stays readable. */
  async close(): Promise<void> {
    this.#listeners.clear();
    this.#followers.clear();
    const membership = await this.#membership?.catch(() => null);
    await membership?.close();
  }

  #current(instances: readonly Instance[], revision: bigint): void {
    const up = instances.filter((instance) => instance.admin === 'up' && instance.address !== '');
    up.sort((a, b) => (a.modRevision < b.modRevision ? -1 : a.modRevision > b.modRevision ? 1 : 0));
    for (const instance of up) this.#instances.set(instance.key, instance);
    this.#container.apply([], up);
    this.#revision = revision;
    this.#sorted = null;
    this.#tell();
  }

  #changed(changes: readonly InstanceChange[], revision: bigint): void {
    const removed = new Set<string>();
    const added = new Map<string, Instance>();
    for (const { type, instance, previous } of changes) {
      const gone = type === 'REMOVED' || instance.admin === 'paused' || instance.address === '';
      const key = gone ? (previous?.key ?? instance.key) : instance.key;
      added.delete(key);
      if (gone) {
        removed.add(key);
        this.#instances.delete(key);
      } else {
        added.set(key, instance);
        this.#instances.set(key, instance);
      }
    }
    // Within a batch only the end counts for a client; writing order decides which key of an address is the newest.
    const entries = [...added.values()].sort((a, b) => (a.modRevision < b.modRevision ? -1 : 1));
    this.#container.apply([...removed], entries);
    this.#revision = revision;
    this.#sorted = null;
    if (changes.length > 0) this.#tell();
    for (const listener of [...this.#followers]) listener(revision);
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener(this.addresses());
  }
}
