import { encodePause } from '../discovery/overlay.js';
import { type DiscoveryPorts, systemPorts } from '../discovery/ports.js';
import type { Etcd } from '../etcd/port.js';
import { LbctlError } from '../model/errors.js';
import { planPause, type Step } from './plan.js';
import type { OperationResult } from './result.js';
import { type Direction, type SteerRequest, steer } from './steer.js';

export interface PauseRequest extends SteerRequest {
  /** Who pauses, for others to see: `user@host`. */
  readonly by: string;
  readonly reason?: string;
  /** Resume by itself after so many milliseconds; rounded up to whole seconds. */
  readonly forMs?: number;
  /** So many instances of the service must stay up. Default 1: the last one is never taken out. 0: no guard. */
  readonly minAvailable?: number;
}

/**
 * Takes instances of publishers of ours out of rotation: writes a pause record for each address, and waits until the
 * owners have obeyed. Already paused is success. Never leaves a record behind when it throws, except with
 * ETCD_OUTCOME_UNKNOWN.
 * @throws USAGE, NOT_FOUND, AMBIGUOUS, NOT_MANAGED, GUARD_REFUSED, WRITE_CONFLICT, ETCD_*. An owner that does not follow in
 *   time is not thrown: see `outcome` and `error` of the result.
 */
export async function pauseInstances(
  etcd: Etcd,
  request: PauseRequest,
  ports: DiscoveryPorts = systemPorts,
): Promise<OperationResult> {
  const { service, by, reason = '', forMs, minAvailable = 1 } = request;
  if (!Number.isInteger(minAvailable) || minAvailable < 0) {
    throw new LbctlError('USAGE', `At least ${minAvailable} instances cannot stay up: give a whole number, 0 or more`);
  }
  if (forMs !== undefined && !(forMs >= 1000)) {
    throw new LbctlError('USAGE', `A pause of ${forMs} ms is too short: etcd counts in seconds`, {
      suggestions: ['Write --for 15m, or leave it out to pause until lbctl resume.'],
    });
  }
  const seconds = forMs === undefined ? null : Math.ceil(forMs / 1000);
  const lease = seconds === null || request.dryRun ? null : await etcd.grantLease(seconds);
  const now = ports.clock.now();
  const at = new Date(now).toISOString();
  const until = seconds === null ? null : new Date(now + seconds * 1000).toISOString();
  const record = (step: Step) => {
    const [first] = step.instances;
    const restore = { key: first?.key ?? '', id: first?.id ?? '', dialect: first?.dialect ?? ('unknown' as const) };
    return encodePause({ by, at, reason, strategy: 'managed', until, restore });
  };
  const written = new Set<string>();
  const direction: Direction = {
    verb: 'pause',
    strategy: 'managed',
    plan: (instances, targets) => planPause(service, instances, targets, minAvailable),
    write: (step, pauseKey) => {
      const value = record(step);
      written.add(value);
      return { put: pauseKey, value, ...(lease === null ? {} : { lease }) };
    },
    happened: (value) => value !== null && written.has(value.toString()),
    confirmed: (instances) => {
      if (instances.some((instance) => instance.admin === 'up')) return null;
      // A record that stands keeps the address listed: there was nothing left to write one for.
      if (instances.length === 0) return { state: 'gone', condition: 'it ended before it could be paused' };
      const gone = instances.every((instance) => instance.notes.includes('OWNER-GONE'));
      return { state: 'paused', condition: gone ? 'its owner is gone' : 'out of etcd, confirmed by its owner' };
    },
  };
  let used = false;
  try {
    const result = await steer(etcd, request, direction, ports);
    used = result.outcome !== 'already' && written.size > 0;
    return result;
  } catch (error) {
    // A record of an unknown outcome may hang on this lease; it ends with it.
    used = error instanceof LbctlError && error.code === 'ETCD_OUTCOME_UNKNOWN';
    throw error;
  } finally {
    if (lease !== null && !used) await etcd.revokeLease(lease).catch(() => {});
  }
}
