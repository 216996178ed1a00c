import { unmaskValue } from '../dialects/mask.js';
import { type KeptKey, OverlayKeys } from '../discovery/overlay.js';
import { type DiscoveryPorts, systemPorts } from '../discovery/ports.js';
import type { ServiceState } from '../discovery/service-state.js';
import type { Etcd, Operation } from '../etcd/port.js';
import type { Instance } from '../model/instance.js';
import type { Seen, Written } from './confirm.js';
import { livesOn } from './kept-leases.js';
import { isUp, planResume, type Step } from './plan.js';
import type { OperationResult } from './result.js';
import { type Direction, type SteerRequest, steer } from './steer.js';

export type ResumeRequest = SteerRequest;

/**
 * Puts paused instances back, with the exact value and lease that they had, and waits until that is so. Already up is
 * success; the record of an owner that is gone is removed.
 * @throws USAGE, NOT_FOUND, AMBIGUOUS, CHECK_FAILED (its own process took it out), WRITE_CONFLICT, ETCD_*. An owner that
 *   does not follow in time is not thrown: see `outcome` and `error` of the result.
 */
export async function resumeInstances(
  etcd: Etcd,
  request: ResumeRequest,
  ports: DiscoveryPorts = systemPorts,
): Promise<OperationResult> {
  return steer(etcd, request, resumeDirection(etcd, request, ports), ports);
}

function resumeDirection(etcd: Etcd, request: ResumeRequest, ports: DiscoveryPorts): Direction {
  const { service, by, reason = '', signal } = request;
  const overlay = new OverlayKeys(request.overlayRoot);
  return {
    verb: 'resume',
    plan: (_instances, targets) => planResume(service, targets),
    write: async (step, state) => {
      const gone: Operation = { delete: { key: overlay.pause(service, step.address) } };
      const record = state.pauseRecord(step.address);
      if (step.strategy === 'mask') return [gone, ...unmask(step, state)];
      if (step.strategy !== 'delete' || !record) return [gone];
      // A key that stands there again belongs to its owner, and a lease that ended took its owner along.
      const missing = record.restore.filter(({ key }) => state.keyValue(key) === null);
      const kept = await livesOn(etcd, missing, signal ? { signal } : {});
      return [gone, ...kept.map(putKept)];
    },
    entry: (steps) => ({
      at: new Date(ports.clock.now()).toISOString(),
      by,
      verb: 'resume',
      what: 'resumed',
      strategy: [...new Set(steps.map((step) => step.strategy))].join(', '),
      addresses: steps.map(({ address }) => address),
      reason,
    }),
    seen: seenBack,
    verifyMs: () => 0,
  };
}

function putKept({ key, value, lease }: KeptKey): Operation {
  return { put: key, value, ...(lease === 0n ? {} : { lease }) };
}

/** What was kept of it, byte for byte; what the mask itself tells, when the record was lost. */
function unmask({ address, instances }: Step, state: ServiceState): Operation[] {
  const kept = state.pauseRecord(address)?.restore ?? [];
  return instances.flatMap(({ key, dialect }): Operation[] => {
    const there = state.instance(key);
    const value = state.keyValue(key)?.value.toString('utf8') ?? '';
    const covered = dialect === 'unknown' ? null : unmaskValue(dialect, value);
    // Not our mask any more: a new life of the server under the same key, which is none of ours to overwrite.
    if (covered === null || there?.address !== address) return [];
    return [{ put: key, value: kept.find((one) => one.key === key)?.value ?? covered, ignoreLease: true }];
  });
}

function seenBack({ strategy }: Written, instances: readonly Instance[]): Seen | null {
  if (instances.length === 0) return { state: 'gone', condition: 'its owner is gone; the record was removed' };
  if (instances.some(isUp)) {
    const condition = strategy === 'managed' ? 'registered again' : 'in rotation, as it was before';
    return { state: 'up', condition };
  }
  // A publisher that finds itself unhealthy stays out for that reason.
  const withdrawn = instances.find((instance) => instance.pause?.strategy === 'withdrawn');
  return withdrawn ? { state: 'paused', condition: `withdrawn: ${withdrawn.pause?.reason}` } : null;
}
