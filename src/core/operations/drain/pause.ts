import type { Etcd } from '../../etcd/port.js';
import { pauseInstances } from '../pause.js';
import type { OperationInstance, OperationResult } from '../result.js';
import { instancesAt } from './facts.js';
import type { DrainPorts, DrainRequest } from './request.js';

/** One address that is out of rotation. */
export interface Standing extends OperationInstance {
  /** The revision at which its pause stands. */
  readonly revision: bigint;
}

/** Guard and pause, all addresses together. Already paused is success: so a drain joins another. */
export function pauseAll(
  etcd: Etcd,
  request: DrainRequest,
  selectors: readonly string[],
  ports: DrainPorts,
): Promise<OperationResult> {
  const { by, reason, minAvailable, waitMs, signal, dryRun = false } = request;
  return pauseInstances(
    etcd,
    { ...request, selectors, by, reason, minAvailable, confirmWithinMs: waitMs, signal, dryRun },
    ports,
  );
}

/** @throws ETCD_* */
export async function standingOf(etcd: Etcd, request: DrainRequest, one: OperationInstance): Promise<Standing> {
  const instances = await instancesAt(etcd, request, one.address, { signal: request.signal });
  const revision = instances.reduce((newest, { modRevision }) => (modRevision > newest ? modRevision : newest), 0n);
  return { ...one, revision };
}
