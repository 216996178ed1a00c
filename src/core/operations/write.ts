import { OverlayKeys } from '../discovery/overlay.js';
import type { DiscoveryPorts } from '../discovery/ports.js';
import { readState } from '../discovery/read.js';
import type { DiscoveryOptions } from '../discovery/service-ranges.js';
import type { ServiceState } from '../discovery/service-state.js';
import type { CallOptions, Compare, Etcd, Operation, TxnResult } from '../etcd/port.js';
import { isLbctlError, LbctlError } from '../model/errors.js';
import type { Instance } from '../model/instance.js';
import { encodeEntry, type LogEntry, logOperations } from './log.js';
import type { Plan, Step } from './plan.js';
import type { Target } from './select.js';

/** What a change of a service is made of. */
export interface Change {
  readonly verb: 'pause' | 'resume';
  /** Called anew for each attempt. @throws what forbids it. */
  plan(instances: readonly Instance[], targets: readonly Target[]): Plan | Promise<Plan>;
  /** What one step writes. */
  write(step: Step, state: ServiceState): Operation[] | Promise<Operation[]>;
  /** The entry for the log. */
  entry(steps: readonly Step[]): LogEntry;
}

/** etcd's bound for the compares, and for the operations, of one transaction. */
const mostInTransaction = 128;
const mostAttempts = 4;

/**
 * Addresses that fit in one transaction. Each costs a compare for its record and one for each of its keys, and half of the
 * room is kept for the instances that the guard counts on.
 */
export function inTransactions(steps: readonly Step[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let room = 0;
  for (const { address, instances } of steps) {
    const cost = 1 + instances.length;
    if (room < cost) {
      groups.push([]);
      room = mostInTransaction / 2 - 4;
    }
    groups.at(-1)?.push(address);
    room -= cost;
  }
  return groups;
}

/**
 * One transaction for some addresses, planned on a fresh read; it compares all that was decided on, and is planned again when
 * somebody else was faster. @returns the revision of the write, null when nothing was left to do.
 */
export async function writeChange(
  etcd: Etcd,
  service: string,
  change: Change,
  addresses: readonly string[],
  options: DiscoveryOptions & { readonly signal?: AbortSignal },
  ports: DiscoveryPorts,
): Promise<bigint | null> {
  const overlay = new OverlayKeys(options.overlayRoot);
  const guardKey = overlay.guard(service);
  const call = options.signal ? { signal: options.signal } : {};
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    // The guard first: whoever writes between the two reads bumps it, and the transaction fails.
    const guard = (await etcd.list({ key: guardKey }, call)).kvs[0];
    const { state } = await readState(etcd, service, options);
    const instances = state.instances();
    const targets = addresses.flatMap((address) => {
      const at = instances.filter((instance) => instance.address === address);
      return at.length > 0 ? [{ address, instances: at }] : [];
    });
    const plan = await change.plan(instances, targets);
    const steps = plan.steps.filter((step) => step.action === change.verb);
    if (steps.length === 0) return null;
    const entry = encodeEntry(change.entry(steps), ports.rng().toString(36).slice(2));
    const number = (guard?.version ?? 0n) + 1n;
    const compares: Compare[] = [
      unchanged(guardKey, guard?.modRevision ?? 0n),
      ...steps.map(({ address }) => unchanged(overlay.pause(service, address), state.pauseRevision(address))),
      // A key that is not there has revision 0, and must stay so.
      ...keysOf([...steps.flatMap((step) => step.instances), ...plan.countedOn]).map((key) =>
        unchanged(key, state.keyValue(key)?.modRevision ?? 0n),
      ),
    ];
    const operations: Operation[] = [
      { put: guardKey, value: change.verb },
      ...logOperations(overlay, service, number - 1n, entry),
    ];
    for (const step of steps) operations.push(...(await change.write(step, state)));
    const request = { compare: compares.slice(0, mostInTransaction), success: operations };
    const result = await commit(etcd, request, { key: overlay.logEntry(service, number), value: entry }, call);
    if (result !== null) return result;
  }
  throw new LbctlError(
    'WRITE_CONFLICT',
    `Others changed ${service} each of ${mostAttempts} times that ${change.verb} tried`,
    { suggestions: [`lbctl list ${service} shows what is so now; then try again.`] },
  );
}

/** The revision of the write; null: somebody else was faster. */
async function commit(
  etcd: Etcd,
  request: { compare: readonly Compare[]; success: readonly Operation[] },
  proof: { key: string; value: string },
  call: CallOptions,
): Promise<bigint | null> {
  let result: TxnResult;
  try {
    result = await etcd.txn(request, call);
  } catch (error) {
    // The lease of a key that was to be put back has run out since: the next plan knows.
    if (isLbctlError(error, 'LEASE_NOT_FOUND')) return null;
    if (!isLbctlError(error, 'ETCD_OUTCOME_UNKNOWN')) throw error;
    // All or nothing was written, so the log tells. What is not there yet may still come: then the guard makes the next
    // attempt fail, and the one after it sees it. Nobody can tell: that, and not the failed look, is the outcome.
    const listing = await etcd.list({ key: proof.key }, call).catch(() => null);
    if (listing === null) throw error;
    const written = listing.kvs[0];
    return written?.value.toString() === proof.value ? written.modRevision : null;
  }
  return result.succeeded ? result.header.revision : null;
}

function unchanged(key: string, revision: bigint): Compare {
  return { key, target: 'mod', is: '=', value: revision };
}

function keysOf(instances: readonly Instance[]): string[] {
  return [...new Set(instances.map((instance) => instance.key).filter((key) => key !== ''))];
}
