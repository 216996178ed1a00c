import type { Membership } from '../discovery/cluster.js';
import { observeService, type ServiceEvent } from '../discovery/observe.js';
import { type DiscoveryPorts, systemPorts } from '../discovery/ports.js';
import type { DiscoveryOptions } from '../discovery/service-ranges.js';
import type { Etcd } from '../etcd/port.js';
import { compareText } from '../model/compare.js';
import type { Instance } from '../model/instance.js';
import { readLog } from '../operations/log.js';
import type { HistoryEvent, Row } from './frame.js';
import { History } from './history.js';
import { LeaseWatch } from './leases.js';

/** What the registry tells of a row. */
export type RegistryRow = Pick<Row, 'id' | 'address' | 'name' | 'state' | 'weight' | 'zone' | 'lease' | 'pause'>;

/** What left is shown for so long. */
const goneForMs = 60_000;
/** The first frame waits no longer than that for what was before it. */
const logMs = 1000;

interface Entry {
  readonly id: string;
  readonly address: string;
  /** By key; empty: gone. */
  readonly instances: Map<string, Instance>;
  /** As it was last in etcd. */
  last: Instance;
  goneAtMs: number | null;
}

/**
 * The rows of a service as etcd has them. A row is an address, however many keys it has: pauses and calls are for addresses.
 * So the row stays when a pause takes its key away and a resume brings another.
 */
export class Registry {
  readonly #entries = new Map<string, Entry>();
  readonly #history = new History();
  readonly #ports: DiscoveryPorts;
  #leases: LeaseWatch | null = null;
  #membership: Membership | null = null;
  #sorted: readonly Entry[] | null = null;
  #wanted: ReadonlySet<bigint> | null = null;
  #version = 0;
  #onNews: () => void = () => {};

  private constructor(ports: DiscoveryPorts) {
    this.#ports = ports;
  }

  /** @throws USAGE for a name that cannot be; ETCD_* when the first load fails. */
  static async open(
    etcd: Etcd,
    service: string,
    options: DiscoveryOptions & { readonly onWarning?: (warning: string) => void } = {},
    ports: DiscoveryPorts = systemPorts,
  ): Promise<Registry> {
    const registry = new Registry(ports);
    registry.#membership = await observeService(etcd, service, (event) => registry.#apply(event), options, ports);
    registry.#leases = new LeaseWatch(etcd, ports.clock, () => registry.#wantedLeases());
    registry.#leases.start();
    const seeds = [...registry.#entries.values()].map(({ id, last }) => [id, last] as const);
    // History is a courtesy: what may not be read, or not soon, costs nobody the rest.
    const { overlayRoot } = options;
    const log = readLog(etcd, service, { timeoutMs: logMs, ...(overlayRoot !== undefined && { overlayRoot }) });
    const { entries } = await log.catch(() => ({ entries: [] }));
    registry.#history.seed(entries, seeds);
    return registry;
  }

  /** Milliseconds since etcd was last heard; null while it is heard. */
  get staleForMs(): number | null {
    return this.#membership?.staleForMs ?? null;
  }

  /** Rises with each change of what is in rotation. */
  get version(): number {
    return this.#version;
  }

  onNews(listener: () => void): void {
    this.#onNews = listener;
  }

  /** By address. What has been gone for a minute is left out. */
  rows(): readonly RegistryRow[] {
    const now = this.#ports.clock.monotonic();
    this.#sorted ??= [...this.#entries.values()].sort(
      (a, b) => compareText(a.address, b.address) || compareText(a.id, b.id),
    );
    const over = this.#sorted.filter(({ goneAtMs }) => goneAtMs !== null && now - goneAtMs > goneForMs);
    for (const { id } of over) this.#entries.delete(id);
    if (over.length > 0) this.#sorted = this.#sorted.filter((entry) => !over.includes(entry));
    return this.#sorted.map((entry) => this.#row(entry));
  }

  /** Whether it is, or was lately, an instance of the service. */
  hasKnown(address: string): boolean {
    return this.#entries.has(address);
  }

  history(id: string): readonly HistoryEvent[] {
    return this.#history.of(id);
  }

  /** Addresses that have more than one key in rotation. */
  duplicates(): readonly string[] {
    const several = [...this.#entries.values()].filter(({ instances }) => upOf(instances) > 1);
    return several.map(({ address }) => address).sort();
  }

  async close(): Promise<void> {
    this.#leases?.close();
    await this.#membership?.close();
  }

  #apply(event: ServiceEvent): void {
    const { instance, previous, type } = event;
    if (instance) {
      if (previous) this.#entries.get(idOf(previous))?.instances.delete(previous.key);
      const id = idOf(instance);
      const entry: Entry = this.#entries.get(id) ?? {
        id,
        address: instance.address,
        instances: new Map(),
        last: instance,
        goneAtMs: null,
      };
      this.#entries.set(id, entry);
      entry.last = instance;
      if (type === 'REMOVED') entry.instances.delete(instance.key);
      else entry.instances.set(instance.key, instance);
      for (const touched of [entry, previous ? this.#entries.get(idOf(previous)) : undefined]) {
        if (touched) touched.goneAtMs = touched.instances.size > 0 ? null : this.#ports.clock.monotonic();
      }
      this.#history.happened(id, event, this.#ports.clock.now());
      this.#sorted = null;
      this.#wanted = null;
      this.#version++;
    }
    this.#onNews();
  }

  #row({ id, address, instances, last }: Entry): RegistryRow {
    const all = [...instances.values()];
    const up = all.find(({ admin }) => admin === 'up');
    const shown = up ?? all[0] ?? last;
    const { lease, pause, weight, zone } = shown;
    return {
      id,
      address,
      name: all.length > 1 ? `${shown.id} +${all.length - 1}` : shown.id,
      state: up ? 'up' : all.length > 0 ? 'paused' : 'gone',
      weight,
      zone,
      lease: lease && all.length > 0 ? (this.#leases?.remaining(lease.id) ?? null) : null,
      pause: pause && !up && all.length > 0 ? { by: pause.by, at: pause.at, reason: pause.reason } : null,
    };
  }

  #wantedLeases(): ReadonlySet<bigint> {
    if (this.staleForMs !== null) return new Set();
    this.#wanted ??= new Set(
      [...this.#entries.values()].flatMap(({ instances }) =>
        [...instances.values()].flatMap(({ lease }) => (lease ? [lease.id] : [])),
      ),
    );
    return this.#wanted;
  }
}

/** A value that cannot be read has no address: its key is all there is to tell it by. */
function idOf({ address, key }: Instance): string {
  return address === '' ? key : address;
}

function upOf(instances: ReadonlyMap<string, Instance>): number {
  return [...instances.values()].filter(({ admin }) => admin === 'up').length;
}
