import type { KeptKey } from '../discovery/overlay.js';
import type { CallOptions, Etcd } from '../etcd/port.js';
import { isLbctlError } from '../model/errors.js';

/** Those of the kept keys whose lease still lives, permanent ones among them. @throws ETCD_*. */
export async function livesOn(
  etcd: Etcd,
  kept: readonly KeptKey[],
  call: CallOptions = {},
): Promise<readonly KeptKey[]> {
  const leases = [...new Set(kept.map(({ lease }) => lease))].filter((lease) => lease !== 0n);
  const alive = new Set<bigint>([0n]);
  await Promise.all(
    leases.map(async (lease) => {
      if (await lives(etcd, lease, call)) alive.add(lease);
    }),
  );
  return kept.filter(({ lease }) => alive.has(lease));
}

async function lives(etcd: Etcd, lease: bigint, call: CallOptions): Promise<boolean> {
  try {
    return (await etcd.leaseInfo(lease, call)).remainingSeconds >= 0;
  } catch (error) {
    if (isLbctlError(error, 'LEASE_NOT_FOUND')) return false;
    throw error;
  }
}
