import type { Instance } from '../core/model/instance.js';

/** An instance as the JSON contract has it: int64 values as bigint (written as decimal strings), nothing absent. */
export function instanceDocument(instance: Instance) {
  const { lease } = instance;
  return {
    address: instance.address,
    id: instance.id,
    key: instance.key,
    service: instance.service,
    dialect: instance.dialect,
    admin: instance.admin,
    health: instance.health,
    weight: instance.weight,
    zone: instance.zone,
    version: instance.version,
    metadata: instance.metadata,
    lease: lease && {
      id: lease.id,
      hex: leaseHex(lease.id),
      ttlSeconds: lease.ttlSeconds ?? null,
      remainingSeconds: lease.remainingSeconds ?? null,
    },
    createRevision: instance.createRevision,
    modRevision: instance.modRevision,
    owner: instance.owner,
    since: instance.since,
    pause: instance.pause,
    notes: instance.notes,
  };
}

/** As etcdctl writes a lease. */
export function leaseHex(id: bigint): string {
  return BigInt.asUintN(64, id).toString(16);
}
