import { checkServiceName } from '../dialects/layout.js';
import type { CallOptions, Etcd } from '../etcd/port.js';
import type { Instance, Lease } from '../model/instance.js';
import { loadRanges } from './load.js';
import {
  type DiscoveryOptions,
  deniedWarnings,
  neededRanges,
  type ServiceRange,
  serviceRanges,
} from './service-ranges.js';
import { ServiceState } from './service-state.js';

/** How a service is read. */
export interface ReadOptions extends DiscoveryOptions, CallOptions {
  /** Also ask etcd for the TTL of each distinct lease: one more call a lease. */
  readonly leases?: boolean;
}

/** A service at one moment. */
export interface ServiceView {
  /** Name of the service. */
  readonly service: string;
  /** The revision of etcd at which all of it was so (int64). */
  readonly revision: bigint;
  /** In and out of rotation, by address and then key. */
  readonly instances: readonly Instance[];
  /** What could not be read, for people. */
  readonly warnings: readonly string[];
}

/** As many leases are asked at once as do not hold up anybody else on the connection. */
const leaseConcurrency = 32;

/**
 * Reads a service and lbctl's records about it.
 * @throws USAGE for a name that cannot be; ETCD_* when etcd does not answer or the user may read none of it.
 */
export async function readService(etcd: Etcd, service: string, options: ReadOptions = {}): Promise<ServiceView> {
  const { state, revision, warnings } = await readState(etcd, service, options);
  const instances = state.instances();
  return {
    service,
    revision,
    warnings,
    instances: options.leases ? await withLeases(etcd, instances, options) : instances,
  };
}

/** The same, with the records behind the view: what a plan is made from. */
export async function readState(
  etcd: Etcd,
  service: string,
  options: ReadOptions = {},
): Promise<{
  state: ServiceState;
  revision: bigint;
  warnings: readonly string[];
  /** What this user may not read. */
  denied: readonly ServiceRange[];
}> {
  checkServiceName(service);
  const ranges = serviceRanges(service, options);
  const loaded = await loadRanges(
    etcd,
    ranges.map((range) => range.range),
    neededRanges(ranges),
    options,
  );
  const state = new ServiceState(service, options);
  for (const [index, { kind, prefix }] of ranges.entries()) {
    for (const kv of loaded.ranges[index]?.kvs ?? []) state.apply(state.prepare(kind, prefix, kv.key, kv));
  }
  const denied = loaded.ranges.map((range) => range.denied !== null);
  return {
    state,
    revision: loaded.revision,
    warnings: deniedWarnings(ranges, denied),
    denied: ranges.filter((_range, index) => denied[index]),
  };
}

/** The same instances with granted and remaining TTL. A lease that cannot be asked keeps its id alone. */
export async function withLeases(
  etcd: Etcd,
  instances: readonly Instance[],
  options: CallOptions = {},
): Promise<readonly Instance[]> {
  const ids = [...new Set(instances.flatMap((instance) => (instance.lease ? [instance.lease.id] : [])))];
  const leases = new Map<bigint, Lease>();
  const gone = new Set<bigint>();
  const worker = async () => {
    for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
      try {
        const { grantedSeconds, remainingSeconds } = await etcd.leaseInfo(id, options);
        if (remainingSeconds < 0) gone.add(id);
        leases.set(id, { id, ttlSeconds: grantedSeconds, remainingSeconds: Math.max(0, remainingSeconds) });
      } catch {
        leases.set(id, { id });
      }
    }
  };
  await Promise.all(Array.from({ length: leaseConcurrency }, worker));
  return instances.map((instance) => {
    const lease = instance.lease && leases.get(instance.lease.id);
    if (!lease) return instance;
    // A deleted key leaves no trace of its owner but the lease.
    const isGone = gone.has(lease.id) && instance.pause?.strategy === 'delete' && instance.admin === 'paused';
    return { ...instance, lease, notes: isGone ? [...instance.notes, 'OWNER-GONE'] : instance.notes };
  });
}
