import { detect } from '../dialects/detect.js';
import { splitKey } from '../dialects/layout.js';
import type { CallOptions, Etcd, KeyValue } from '../etcd/port.js';
import { compareText } from '../model/compare.js';
import { isLbctlError, LbctlError } from '../model/errors.js';
import type { DialectName, Instance } from '../model/instance.js';
import { OverlayKeys } from './overlay.js';
import type { DiscoveryOptions } from './service-ranges.js';
import { ServiceState } from './service-state.js';

export interface ServiceSummary {
  readonly service: string;
  readonly dialects: readonly (DialectName | 'unknown')[];
  readonly instances: number;
  readonly up: number;
  readonly paused: number;
  /** Instances whose key has no lease. */
  readonly permanent: number;
  /** Instances that share their address with another key. */
  readonly duplicates: number;
}

export interface ServiceList {
  readonly revision: bigint;
  /** By name. */
  readonly services: readonly ServiceSummary[];
}

/**
 * Every service in etcd: a service is a key minus its last segment, where at least one value is an instance in some
 * layout, or where lbctl holds a record of one that is paused. An instance counts for the service right above it only.
 */
export async function listServices(etcd: Etcd, options: DiscoveryOptions & CallOptions = {}): Promise<ServiceList> {
  const overlay = new OverlayKeys(options.overlayRoot);
  const { header, kvs } = await etcd.list({ key: '\0', end: '\0' }, options).catch(nameAService);
  const states = new Map<string, ServiceState>();
  const stateOf = (service: string) => {
    const state = states.get(service) ?? new ServiceState(service, options);
    states.set(service, state);
    return state;
  };
  const serviceAt = new Map<string, string>();
  const unparsed: KeyValue[] = [];
  const add = (service: string, kv: KeyValue) => {
    const state = stateOf(service);
    state.apply(state.prepare('instances', directoryOf(kv.key), kv.key, kv));
  };
  for (const kv of kvs) {
    const record = overlay.parse(kv.key);
    if (record) {
      const state = stateOf(record.service);
      state.apply(state.prepare(record.kind, '', kv.key, kv));
    } else if (!kv.key.startsWith(overlay.root)) {
      const found = detect(kv.value, options.dialect);
      const owner = found && splitKey(kv.key, found.dialect, options);
      if (!owner) {
        unparsed.push(kv);
      } else {
        serviceAt.set(directoryOf(kv.key), owner.service);
        add(owner.service, kv);
      }
    }
  }
  // A value that is no instance counts where instances are: somebody meant it to be one.
  for (const kv of unparsed) {
    const service = serviceAt.get(directoryOf(kv.key));
    if (service !== undefined) add(service, kv);
  }
  const services = [...states.values()]
    .map((state) => summary(state.service, state.instances()))
    .filter((entry) => entry.instances > 0)
    .sort((a, b) => compareText(a.service, b.service));
  return { revision: header.revision, services };
}

/** All of etcd is more than most users may read, and more than one service needs. */
function nameAService(error: unknown): never {
  if (!isLbctlError(error, 'ETCD_PERMISSION_DENIED')) throw error;
  throw new LbctlError(error.code, error.message, {
    cause: error.cause,
    suggestions: ['Name the service: that reads its own keys only.', ...error.suggestions],
  });
}

function directoryOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/') + 1);
}

/** The counts of one service. */
export function summary(service: string, instances: readonly Instance[]): ServiceSummary {
  const count = (test: (instance: Instance) => boolean) => instances.filter(test).length;
  return {
    service,
    dialects: [...new Set(instances.map((instance) => instance.dialect))].sort(),
    instances: instances.length,
    up: count((instance) => instance.admin === 'up'),
    paused: count((instance) => instance.admin === 'paused'),
    permanent: count((instance) => instance.notes.includes('PERMANENT')),
    duplicates: count((instance) => instance.notes.includes('DUPLICATE')),
  };
}
