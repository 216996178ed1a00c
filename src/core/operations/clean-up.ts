import { OverlayKeys, type PauseRecord } from '../discovery/overlay.js';
import type { DiscoveryPorts } from '../discovery/ports.js';
import { readState } from '../discovery/read.js';
import type { DiscoveryOptions } from '../discovery/service-ranges.js';
import type { ServiceState } from '../discovery/service-state.js';
import type { Etcd } from '../etcd/port.js';
import { livesOn } from './kept-leases.js';
import type { Target } from './select.js';
import { inTransactions, writeChange } from './write.js';

/** It comes on top of what was asked for: an etcd that is slow by now is not waited for. */
const withinMs = 1000;

interface CleanUpRequest extends DiscoveryOptions {
  readonly service: string;
  readonly by: string;
  readonly signal?: AbortSignal;
}

/**
 * Removes records of pauses whose instance is gone for good: masked or deleted by a plain `pause`, no key left at the
 * address, and every lease it had ended. Whoever starts there later is another one. Publishers of ours start paused and a
 * drain restarts what it has taken out: those records stay. Never fails what it is a part of.
 * @returns the addresses.
 */
export async function cleanUp(etcd: Etcd, request: CleanUpRequest, ports: DiscoveryPorts): Promise<readonly string[]> {
  const { service, by } = request;
  try {
    const { state } = await readState(etcd, service, { ...request, timeoutMs: withinMs });
    const gone = await goneForGood(etcd, state, state.pausedAddresses());
    if (gone.length === 0) return [];
    const overlay = new OverlayKeys(request.overlayRoot);
    const steps = gone.map(
      (address) => ({ address, action: 'resume', strategy: 'mask', why: '', condition: '' }) as const,
    );
    const change = {
      verb: 'resume',
      plan: (_: unknown, targets: readonly Target[]) => ({
        steps: steps.flatMap((step) => {
          const target = targets.find(({ address }) => address === step.address);
          return target ? [{ ...step, instances: target.instances }] : [];
        }),
        countedOn: [],
      }),
      write: ({ address }: { address: string }) => [{ delete: { key: overlay.pause(service, address) } }],
      entry: (done: readonly { address: string }[]) => ({
        at: new Date(ports.clock.now()).toISOString(),
        by,
        verb: 'resume',
        what: 'record removed: its instance is gone for good',
        strategy: '',
        addresses: done.map(({ address }) => address),
        reason: '',
      }),
    } as const;
    for (const group of inTransactions(steps.map((step) => ({ ...step, instances: [] })))) {
      await writeChange(etcd, service, change, group, request, ports);
    }
    return gone;
  } catch {
    return [];
  }
}

/** Whether a look is worth it: what a plain pause has masked or deleted stays on record when its instance goes. */
export function mayHaveLeftovers(state: ServiceState): boolean {
  return state.pausedAddresses().some((address) => isLeftoverOf(state.pauseRecord(address)));
}

function isLeftoverOf(record: PauseRecord | null): record is PauseRecord {
  return record !== null && record.strategy !== 'managed' && record.verb === 'pause';
}

async function goneForGood(etcd: Etcd, state: ServiceState, addresses: readonly string[]): Promise<readonly string[]> {
  const gone: string[] = [];
  for (const address of addresses) {
    const record = state.pauseRecord(address);
    if (!isLeftoverOf(record)) continue;
    if (state.instances().some((one) => one.address === address && state.keyValue(one.key) !== null)) continue;
    if ((await livesOn(etcd, record.restore, { timeoutMs: withinMs })).length === 0) gone.push(address);
  }
  return gone;
}
