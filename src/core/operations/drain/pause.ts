import type { Etcd } from '../../etcd/port.js';
import { pauseInstances } from '../pause.js';
import type { OperationInstance, OperationResult } from '../result.js';
import { instancesAt } from './facts.js';
import type { DrainPorts, DrainRequest } from './request.js';

/** One address that is out of rotation. */
export interface Standing extends OperationInstance {
  /** The revision at which it left: what a client has to have applied. */
  readonly revision: bigint;
}

/** Guard and pause, all addresses together. Already paused is success: so a drain joins another. */
export function pauseAll(
  etcd: Etcd,
  request: DrainRequest,
  selectors: readonly string[],
  ports: DrainPorts,
): Promise<OperationResult> {
  return pauseInstances(etcd, { ...request, selectors, confirmWithinMs: request.waitMs, onPlan: ports.planned }, ports);
}

/** @throws ETCD_* */
export async function standingOf(etcd: Etcd, request: DrainRequest, one: OperationInstance): Promise<Standing> {
  const { instances } = await instancesAt(etcd, request, one.address, { signal: request.signal });
  // A publisher of ours takes its key out later than the pause is written.
  let revision = 0n;
  for (const { modRevision } of instances) if (modRevision > revision) revision = modRevision;
  return { ...one, revision };
}
