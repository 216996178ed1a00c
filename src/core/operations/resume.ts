import { type DiscoveryPorts, systemPorts } from '../discovery/ports.js';
import type { Etcd } from '../etcd/port.js';
import { planResume } from './plan.js';
import type { OperationResult } from './result.js';
import { type Direction, type SteerRequest, steer } from './steer.js';

export type ResumeRequest = SteerRequest;

/**
 * Puts paused instances back: removes their pause records and waits until the owners have registered again. Already up is
 * success; the record of an owner that is gone is removed.
 * @throws USAGE, NOT_FOUND, AMBIGUOUS, CHECK_FAILED (its own process took it out), WRITE_CONFLICT, ETCD_*. An owner that
 *   does not follow in time is not thrown: see `outcome` and `error` of the result.
 */
export async function resumeInstances(
  etcd: Etcd,
  request: ResumeRequest,
  ports: DiscoveryPorts = systemPorts,
): Promise<OperationResult> {
  const direction: Direction = {
    verb: 'resume',
    strategy: 'managed',
    plan: (_instances, targets) => planResume(request.service, targets),
    write: (_step, pauseKey) => ({ delete: { key: pauseKey } }),
    happened: (value) => value === null,
    confirmed: (instances) => {
      if (instances.length === 0) return { state: 'gone', condition: 'its owner is gone; the record was removed' };
      if (instances.some((instance) => instance.admin === 'up')) return { state: 'up', condition: 'registered again' };
      // A publisher that finds itself unhealthy stays out for that reason.
      const withdrawn = instances.find((instance) => instance.pause?.strategy === 'withdrawn');
      return withdrawn ? { state: 'paused', condition: `withdrawn: ${withdrawn.pause?.reason}` } : null;
    },
  };
  return steer(etcd, request, direction, ports);
}
