import { listServices } from '../../core/discovery/list-services.js';
import { noInstances } from '../../core/discovery/no-instances.js';
import { readService, withLeases } from '../../core/discovery/read.js';
import type { DiscoveryOptions } from '../../core/discovery/service-ranges.js';
import type { Etcd } from '../../core/etcd/port.js';
import { probeAll } from '../../core/health/probe-all.js';
import { systemClock } from '../../core/model/clock.js';
import type { Outcome } from '../base-command.js';
import { instanceDocument } from '../instance-document.js';
import { instancesText, servicesText } from './view.js';

/** One call to etcd a lease: more than these are only asked for on demand. */
const askedLeases = 256;

export interface ListOptions extends DiscoveryOptions {
  readonly probe: boolean;
  /** Undefined: when there are few enough. */
  readonly ttl: boolean | undefined;
  readonly signal: AbortSignal;
  tell(line: string): void;
}

/** Every service that etcd holds. */
export async function listAllServices(
  etcd: Etcd,
  { tell, ...options }: DiscoveryOptions & { tell(line: string): void },
): Promise<Outcome> {
  const { revision, services } = await listServices(etcd, options);
  // Nothing at all looks like a fault.
  if (services.length === 0) tell('No service is registered. For example: lbctl register user.rpc 10.0.0.7:8080');
  return {
    document: { revision, services },
    rows: services,
    addresses: services.map((entry) => entry.service),
    text: (view) => servicesText(services, view),
  };
}

/** The instances of one service; an error NO_INSTANCE beside the empty document when there are none. */
export async function listInstances(etcd: Etcd, service: string, options: ListOptions): Promise<Outcome> {
  const { probe, ttl, signal, tell, ...discovery } = options;
  const read = await readService(etcd, service, { ...discovery, signal });
  for (const warning of read.warnings) tell(`Warning: ${warning}`);
  let { instances } = read;
  if (asksForLeases(instances, ttl, tell)) instances = await withLeases(etcd, instances, { signal });
  if (probe) instances = await probeAll(instances, { clock: systemClock, timeoutMs: 1000, concurrency: 64, signal });
  return {
    // Each only when it is asked for: there may be ten thousand.
    get document() {
      return { service, revision: read.revision, instances: instances.map(instanceDocument) };
    },
    get rows() {
      return instances.map(instanceDocument);
    },
    get addresses() {
      const inRotation = instances.filter((entry) => entry.admin === 'up' && entry.address !== '');
      return [...new Set(inRotation.map((entry) => entry.address))];
    },
    text: (view) => instancesText(instances, view),
    ...(instances.length === 0 && { error: await noInstances(etcd, service, discovery) }),
  };
}

function asksForLeases(
  instances: ReadonlyArray<{ lease: { id: bigint } | null }>,
  ttl: boolean | undefined,
  tell: (line: string) => void,
): boolean {
  if (ttl !== undefined) return ttl;
  const leases = new Set(instances.flatMap((entry) => (entry.lease ? [entry.lease.id] : []))).size;
  if (leases <= askedLeases) return leases > 0;
  tell(`TTL is not shown for ${leases} leases, each would be one call to etcd; --ttl asks for all of them.`);
  return false;
}
