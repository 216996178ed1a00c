import { splitHostPort } from '../dialects/address.js';
import { noInstances } from '../discovery/no-instances.js';
import type { DiscoveryOptions } from '../discovery/service-ranges.js';
import type { Etcd } from '../etcd/port.js';
import { LbctlError } from '../model/errors.js';
import type { Instance } from '../model/instance.js';

/** Everything at one address: a pause is for an address, however many keys it has. */
export interface Target {
  readonly address: string;
  readonly instances: readonly Instance[];
}

const mostCandidates = 10;

interface Selection {
  readonly selectors: readonly string[];
  readonly all?: boolean;
}

/**
 * The addresses that selectors mean: an address, an id, a key, or `zone=…` / `host=…` (which may mean several).
 * @throws USAGE when nothing is asked for, or an empty one; NO_INSTANCE with similar names when nobody is registered; NOT_FOUND
 * or AMBIGUOUS with the candidates.
 */
export async function findTargets(
  etcd: Etcd,
  service: string,
  instances: readonly Instance[],
  request: Selection & DiscoveryOptions,
): Promise<readonly Target[]> {
  checkSelection(service, request);
  if (instances.length === 0) throw await noInstances(etcd, service, request);
  return selectTargets(service, instances, request);
}

function selectTargets(service: string, instances: readonly Instance[], request: Selection): readonly Target[] {
  const chosen = new Set<string>();
  if (request.all) for (const { address } of instances) if (address !== '') chosen.add(address);
  for (const selector of request.selectors) {
    for (const address of addressesOf(service, instances, selector)) chosen.add(address);
  }
  return [...chosen]
    .sort()
    .map((address) => ({ address, instances: instances.filter((instance) => instance.address === address) }));
}

function checkSelection(service: string, request: Selection): void {
  if (request.selectors.length === 0 && !request.all) {
    throw new LbctlError('USAGE', `Which instances of ${service}?`, {
      suggestions: ['Name an address, an id, a key, zone=a or host=10.0.0.7.', '--all means every instance.'],
    });
  }
  if (request.selectors.length > 0 && request.all) {
    throw new LbctlError('USAGE', `--all means every instance of ${service}, and ${request.selectors.join(' ')} some`, {
      suggestions: ['Leave one of them out.'],
    });
  }
  // What a script's unset variable leaves behind must not mean the instances that happen to have no zone, id or key.
  const empty = request.selectors.find((selector) => /^(?:(?:zone|host)=)?$/.test(selector));
  if (empty !== undefined) {
    throw new LbctlError('USAGE', `"${empty}" names no instance of ${service}: it is empty`, {
      suggestions: ['Name an address, an id, a key, zone=a or host=10.0.0.7.'],
    });
  }
}

function addressesOf(service: string, instances: readonly Instance[], selector: string): readonly string[] {
  const group = /^(zone|host)=(.*)$/.exec(selector);
  const found = instances.filter((instance) => {
    if (group?.[1] === 'zone') return instance.zone === group[2];
    if (group?.[1] === 'host') return hostOf(instance.address) === (group[2] ?? '').replace(/^\[(.*)\]$/, '$1');
    return instance.address === selector || instance.id === selector || instance.key === selector;
  });
  const addresses = [...new Set(found.map((instance) => instance.address))];
  if (addresses.includes('')) {
    throw new LbctlError('NOT_MANAGED', `${selector} of ${service} is a key whose value names no address`, {
      suggestions: [`lbctl list ${service} -o wide shows it as UNPARSED.`],
    });
  }
  if (addresses.length === 0) {
    throw new LbctlError('NOT_FOUND', `${service} has no instance ${selector}`, {
      suggestions: candidates(service, instances),
    });
  }
  if (!group && addresses.length > 1) {
    const named = instances.filter((instance) => addresses.includes(instance.address));
    throw new LbctlError('AMBIGUOUS', `${selector} of ${service} means ${addresses.length} instances`, {
      suggestions: candidates(service, named),
    });
  }
  return addresses;
}

function hostOf(address: string): string {
  return splitHostPort(address).host;
}

function candidates(service: string, instances: readonly Instance[]): string[] {
  const named = instances.filter((instance) => instance.address !== '');
  const lines = named.slice(0, mostCandidates).map(({ address, id }) => `${address} (id ${id})`);
  const rest = named.length - lines.length;
  return [...lines, ...(rest > 0 ? [`… and ${rest} more: lbctl list ${service}`] : [])];
}
