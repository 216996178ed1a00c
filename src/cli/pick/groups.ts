import { distinct } from '../../core/balancer/balancer.js';
import { serviceNameFault } from '../../core/dialects/layout.js';
import { listServices } from '../../core/discovery/list-services.js';
import { noInstances } from '../../core/discovery/no-instances.js';
import { readService } from '../../core/discovery/read.js';
import type { DiscoveryOptions } from '../../core/discovery/service-ranges.js';
import type { CallOptions, Etcd } from '../../core/etcd/port.js';
import { LbctlError } from '../../core/model/errors.js';
import type { Instance } from '../../core/model/instance.js';
import type { PickGroup } from '../../core/operations/pick.js';

type Options = DiscoveryOptions & CallOptions & { tell(line: string): void };

/** As many services are read at once as do not hold up anybody else on the connection. */
const readConcurrency = 16;

/**
 * The instances in rotation of one service, or of every service that has any.
 * @throws NO_INSTANCE when nobody is registered (with similar names for the one service), and as readService.
 */
export async function pickGroups(etcd: Etcd, service: string | undefined, options: Options): Promise<PickGroup[]> {
  if (service !== undefined) {
    const group = await readGroup(etcd, service, options);
    if (group === null) throw await noInstances(etcd, service, options);
    return [group];
  }
  const { services } = await listServices(etcd, options);
  const names = services.map((entry) => entry.service).filter((name) => isReadable(name, options));
  const groups: PickGroup[] = [];
  for (let start = 0; start < names.length; start += readConcurrency) {
    const some = names.slice(start, start + readConcurrency);
    for (const group of await Promise.all(some.map((name) => readGroup(etcd, name, options)))) {
      if (group !== null && group.nodes.length > 0) groups.push(group);
    }
  }
  if (groups.length > 0) return groups;
  throw new LbctlError('NO_INSTANCE', 'No service has an instance in rotation to pick from', {
    suggestions: ['lbctl list'],
  });
}

/** One key that somebody wrote under a name no service has is no reason to say nothing about the others. */
function isReadable(service: string, { tell }: Options): boolean {
  const fault = serviceNameFault(service);
  if (fault !== null) tell(`Warning: ${JSON.stringify(service)} is left out: as a service name, ${fault}.`);
  return fault === null;
}

/** Null when nobody is registered. */
async function readGroup(etcd: Etcd, service: string, options: Options): Promise<PickGroup | null> {
  const { instances, warnings } = await readService(etcd, service, options);
  for (const warning of warnings) options.tell(`Warning: ${warning}`);
  return instances.length === 0 ? null : { service, nodes: distinct(instances.filter(isCandidate)) };
}

/** What a client would dial: not what is paused, not what cannot be read. */
function isCandidate(instance: Instance): boolean {
  return instance.admin === 'up' && instance.address !== '';
}
