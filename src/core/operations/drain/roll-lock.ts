import { OverlayKeys } from '../../discovery/overlay.js';
import type { Etcd } from '../../etcd/port.js';
import { sleep } from '../../model/clock.js';
import { isLbctlError, LbctlError } from '../../model/errors.js';
import {
  type Claim,
  claimTtlSeconds,
  describeHolder,
  type HeldBy,
  type Holder,
  isClaim,
  readClaim,
  takeClaim,
} from './claim.js';
import type { DrainPorts, DrainRequest } from './request.js';
import { Interrupted } from './wait.js';

const lookEveryMs = 300;
/** A lease that was not renewed for so long has nobody who renews it. */
const dyingWithinMs = (claimTtlSeconds + 2) * 1000;

/**
 * The lock of a service: one operator rolls it. A lock whose holder was killed is waited for; it goes with its lease.
 * @throws GUARD_REFUSED naming the holder; Interrupted; ETCD_*
 */
export async function lockRoll(
  etcd: Etcd,
  request: Pick<DrainRequest, 'service' | 'by' | 'overlayRoot' | 'signal'>,
  command: readonly string[],
  ports: DrainPorts,
): Promise<Claim> {
  const { service, by, overlayRoot, signal } = request;
  const { clock } = ports;
  const key = new OverlayKeys(overlayRoot).rollLock(service);
  const startedAt = new Date(clock.now()).toISOString();
  const holder: Holder = { by, ...ports.process, startedAt, command, state: 'running' };
  const since = clock.monotonic();
  let lowest = Number.POSITIVE_INFINITY;
  for (;;) {
    const there = (await readClaim(etcd, key, { signal })) ?? (await takeClaim(etcd, key, holder, ports, { signal }));
    if (isClaim(there)) return there;
    const left = await secondsLeft(etcd, there, signal);
    if (left > lowest || clock.monotonic() - since > dyingWithinMs) throw refused(service, there.holder);
    if (lowest === Number.POSITIVE_INFINITY) {
      ports.tell(`${describeHolder(there.holder)} rolls ${service}, or was killed: its lease tells within seconds.`);
    }
    lowest = left;
    await sleep(clock, lookEveryMs, signal);
    if (signal.aborted) throw new Interrupted();
  }
}

/** It rises when somebody renews it. */
async function secondsLeft(etcd: Etcd, { lease }: HeldBy, signal: AbortSignal): Promise<number> {
  // Whoever put the key there without a lease did not mean it to go away.
  if (lease === 0n) return Number.POSITIVE_INFINITY;
  try {
    return (await etcd.leaseInfo(lease, { signal })).remainingSeconds;
  } catch (error) {
    if (isLbctlError(error, 'LEASE_NOT_FOUND')) return -1;
    throw error;
  }
}

function refused(service: string, holder: Holder): LbctlError {
  const runs = holder.command.length > 0 ? `: ${holder.command.join(' ')}` : '';
  return new LbctlError('GUARD_REFUSED', `${service} is being rolled by ${describeHolder(holder)}${runs}`, {
    suggestions: ['One operator at a time rolls a service: wait until that has ended.'],
  });
}
