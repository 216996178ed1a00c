import type { Candidate } from '../balancer.js';

/** The local zone keeps all calls while at least 1/1.4 = 71 % of it is well. Source: Envoy, overprovisioning factor. */
const overprovisioning = 1.4;

/**
 * The part of the calls, 0 to 1, that stays in `zone`: all while enough of its instances are well, then what those that are
 * left can take; none when nobody there is well, or nobody is there.
 */
export function localShare(instances: readonly Candidate[], zone: string, isIll: (address: string) => boolean): number {
  const local = instances.filter((instance) => instance.zone === zone);
  if (local.length === 0) return 0;
  if (local.length === instances.length) return 1;
  const well = local.filter(({ address }) => !isIll(address)).length;
  return Math.min(1, (overprovisioning * well) / local.length);
}
