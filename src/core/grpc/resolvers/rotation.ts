import type { Candidate } from '../../balancer/balancer.js';
import { addressFault, isAnyHost, splitHostPort } from '../../dialects/address.js';
import type { Instance } from '../../model/instance.js';

/**
 * The instances that calls may go to: in rotation, with an address that can be dialled, each address once. Of several
 * registrations of one address the newest tells its weight and zone: the others are left over from a restart.
 */
export function inRotation(instances: readonly Instance[]): readonly Instance[] {
  const byAddress = new Map<string, Instance>();
  for (const instance of instances) {
    if (instance.admin !== 'up' || !canBeDialled(instance.address)) continue;
    const known = byAddress.get(instance.address);
    if (known === undefined || known.modRevision < instance.modRevision) byAddress.set(instance.address, instance);
  }
  return [...byAddress.values()];
}

/** A loopback address can be: a client may live on the same machine. One that names every interface cannot. */
function canBeDialled(address: string): boolean {
  return addressFault(address) === null && !isAnyHost(splitHostPort(address).host);
}

/** Whether no call could tell the two apart. Revisions, leases and owners are for operators. */
export function sameInstances(a: readonly Candidate[], b: readonly Candidate[]): boolean {
  return a.length === b.length && a.every((instance, index) => sameInstance(instance, b[index]));
}

function sameInstance(a: Candidate & Partial<Instance>, b: (Candidate & Partial<Instance>) | undefined): boolean {
  if (a === b) return true;
  return (
    a.address === b?.address &&
    a.weight === b.weight &&
    a.zone === b.zone &&
    a.version === b.version &&
    sameRecords(a.metadata ?? {}, b.metadata ?? {})
  );
}

function sameRecords(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && a[name] === b[name]);
}
