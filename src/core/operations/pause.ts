import { maskValue } from '../dialects/mask.js';
import { encodePause, type KeptKey, OverlayKeys } from '../discovery/overlay.js';
import { type DiscoveryPorts, systemPorts } from '../discovery/ports.js';
import type { ServiceState } from '../discovery/service-state.js';
import type { Etcd, Operation } from '../etcd/port.js';
import { isLbctlError, LbctlError } from '../model/errors.js';
import type { Instance, PauseVerb } from '../model/instance.js';
import { putBack, resumedMeanwhile, type Seen, type Written } from './confirm.js';
import type { Look } from './looking.js';
import type { Minimum } from './minimum.js';
import { isUp, planPause, type Step } from './plan.js';
import type { OperationResult } from './result.js';
import { type Direction, type SteerRequest, steer } from './steer.js';
import type { StrategyChoice } from './strategy.js';

export interface PauseRequest extends SteerRequest {
  /** What the pause is part of. Default `pause`. */
  readonly verb?: PauseVerb;
  /** How to take out what lbctl does not own. Default `auto`. */
  readonly strategy?: StrategyChoice;
  /**
   * Resume by itself after so many milliseconds; rounded up to whole seconds. Only a publisher of ours does so: of what
   * is masked or deleted the record says until when, and the caller resumes it.
   */
  readonly forMs?: number;
  /** So many must stay up. Default 1: the last one is never taken out. 0: no guard. */
  readonly minAvailable?: Minimum;
  /** Which of these answer a probe: only they count for the guard. Absent: all that are up. */
  readonly answering?: (instances: readonly Instance[]) => Promise<ReadonlySet<string>>;
  /** How long it is watched that they stay out. Default 3 s; 0 where publishers of ours have confirmed. */
  readonly verifyMs?: number;
}

const verifyMs = 3000;

/**
 * Takes instances out of rotation, each as `chooseStrategy` says, and waits until that is so. Already paused is success.
 * Never leaves a record behind when it throws, except with ETCD_OUTCOME_UNKNOWN.
 * @throws USAGE, NOT_FOUND, AMBIGUOUS, NOT_MANAGED, GUARD_REFUSED, WRITE_CONFLICT, ETCD_*. An owner that does not follow in
 *   time, or comes back, is not thrown: see `outcome` and `error` of the result.
 */
export async function pauseInstances(
  etcd: Etcd,
  request: PauseRequest,
  ports: DiscoveryPorts = systemPorts,
): Promise<OperationResult> {
  const { forMs, dryRun } = request;
  if (forMs !== undefined && !(forMs >= 1000)) {
    throw new LbctlError('USAGE', `A pause of ${forMs} ms is too short: etcd counts in seconds`, {
      suggestions: ['Write --for 15m, or leave it out to pause until lbctl resume.'],
    });
  }
  const seconds = forMs === undefined ? null : Math.ceil(forMs / 1000);
  const lease = seconds === null || dryRun ? null : await etcd.grantLease(seconds);
  let used = false;
  try {
    const result = await steer(etcd, request, pauseDirection(request, lease, ports), ports);
    used = result.instances.some((one) => one.changed && one.strategy === 'managed');
    return result;
  } catch (error) {
    // A record of an unknown outcome may hang on this lease; it ends with it.
    used = isLbctlError(error, 'ETCD_OUTCOME_UNKNOWN');
    throw error;
  } finally {
    if (lease !== null && !used) await etcd.revokeLease(lease).catch(() => {});
  }
}

/**
 * How a pause is planned, written and recognised. `lease`: what the records of managed instances hang on. `again`: the
 * record that stands goes on, whoever takes the instance out once more.
 */
export function pauseDirection(
  request: PauseRequest,
  lease: bigint | null,
  ports: DiscoveryPorts,
  again = false,
): Direction {
  const { service, by, reason = '', verb = 'pause', strategy = 'auto', forMs } = request;
  const { minAvailable = { count: 1 }, answering } = request;
  const overlay = new OverlayKeys(request.overlayRoot);
  const now = ports.clock.now();
  const at = new Date(now).toISOString();
  const until = forMs === undefined ? null : new Date(now + Math.ceil(forMs / 1000) * 1000).toISOString();
  return {
    verb: 'pause',
    plan: async (instances, targets) =>
      planPause(service, instances, targets, {
        strategy,
        minAvailable,
        answering: answering ? await answering(instances.filter(isUp)) : null,
      }),
    write: (step, state) => {
      const standing = again ? state.pauseRecord(step.address) : null;
      const who = standing ?? { by, at, reason, verb, until };
      const record = { ...who, strategy: step.strategy, restore: keep(step, state) };
      const owned = lease !== null && step.strategy === 'managed';
      return [
        { put: overlay.pause(service, step.address), value: encodePause(record), ...(owned ? { lease } : {}) },
        ...takeOut(step, state),
      ];
    },
    entry: (steps) => ({
      at: new Date(ports.clock.now()).toISOString(),
      by,
      verb,
      what: steps.some(({ condition }) => condition === 'came back') ? 'paused again' : 'paused',
      strategy: [...new Set(steps.map((step) => step.strategy))].join(', '),
      addresses: steps.map(({ address }) => address),
      reason,
    }),
    seen: (one, instances, look) => seenOut(service, one, instances, look),
    verifyMs: (strategies) => request.verifyMs ?? (strategies.every((name) => name === 'managed') ? 0 : verifyMs),
  };
}

/** The keys as they are now, and of an earlier pause those that are still out. */
function keep({ address, strategy, instances }: Step, state: ServiceState): readonly KeptKey[] {
  const now = instances
    .filter((instance) => isUp(instance) || strategy === 'managed')
    .map(({ key, id, dialect, lease }): KeptKey => {
      const value = strategy === 'managed' ? '' : (state.keyValue(key)?.value.toString('utf8') ?? '');
      return { key, id, dialect, value, lease: lease?.id ?? 0n };
    });
  if (strategy === 'managed') return now;
  const before = state.pauseRecord(address)?.restore ?? [];
  const isOut = ({ key }: KeptKey) => strategy === 'delete' || state.keyValue(key) !== null;
  return [...before.filter((kept) => isOut(kept) && !now.some(({ key }) => key === kept.key)), ...now];
}

function takeOut({ strategy, instances }: Step, state: ServiceState): Operation[] {
  if (strategy === 'managed') return [];
  return instances.filter(isUp).map(({ key, dialect, address, service }) => {
    if (strategy === 'delete') return { delete: { key } };
    const value = dialect === 'unknown' ? null : maskValue(dialect, state.keyValue(key)?.value.toString('utf8') ?? '');
    if (value === null) throw new LbctlError('NOT_MANAGED', `${address} of ${service} (${key}) has no value to mask`);
    return { put: key, value, ignoreLease: true };
  });
}

function seenOut(service: string, one: Written, instances: readonly Instance[], { state }: Look): Seen | null {
  const { address, strategy } = one;
  const record = state.pauseRecord(address);
  if (instances.some(isUp)) {
    if (!record) return { state: 'up', condition: 'resumed meanwhile', error: resumedMeanwhile(service, address) };
    // Masking and deleting are done in the transaction itself: whoever is up again was put back.
    if (strategy === 'managed') return null;
    return { state: 'up', condition: 'put back by its owner', error: putBack(service, address, strategy) };
  }
  // A record that stands keeps the address listed: there was nothing left to write one for.
  if (instances.length === 0) return { state: 'gone', condition: 'it ended before it could be paused' };
  if (instances.every((instance) => instance.notes.includes('OWNER-GONE'))) {
    return { state: 'paused', condition: 'its owner is gone' };
  }
  const how = { managed: 'out of etcd, confirmed by its owner', mask: 'masked', delete: 'its key is deleted' };
  return { state: 'paused', condition: how[strategy] };
}
