import { OverlayKeys } from '../discovery/overlay.js';
import type { DiscoveryPorts } from '../discovery/ports.js';
import { readState } from '../discovery/read.js';
import type { DiscoveryOptions, ServiceRange } from '../discovery/service-ranges.js';
import type { Etcd } from '../etcd/port.js';
import { isLbctlError, LbctlError } from '../model/errors.js';
import type { Instance } from '../model/instance.js';
import { cleanUp, mayHaveLeftovers } from './clean-up.js';
import { type AwaitedEffect, confirm, type Seen, verifyOut, type Written } from './confirm.js';
import { type Look, Looking } from './looking.js';
import { isUp, type Plan, type Step } from './plan.js';
import type { OperationInstance, OperationResult } from './result.js';
import { findTargets } from './select.js';
import { type Change, inTransactions, writeChange } from './write.js';

export interface SteerRequest extends DiscoveryOptions {
  readonly service: string;
  /** Addresses, ids, keys, `zone=…`, `host=…`. */
  readonly selectors: readonly string[];
  readonly all?: boolean;
  /** Who does it, for others to see: `user@host`. */
  readonly by: string;
  readonly reason?: string;
  /** Plan and stop there. */
  readonly dryRun?: boolean;
  /** Told what is planned, before anything is written. */
  readonly onPlan?: (instances: readonly OperationInstance[]) => void;
  /** How long owners have to follow. Default 10 s. */
  readonly confirmWithinMs?: number;
  readonly signal?: AbortSignal;
}

/** The two directions differ in these. */
export interface Direction extends Change {
  /** Null: not yet. */
  seen(one: Written, instances: readonly Instance[], look: Look): Seen | null;
  /** How long what is out must stay out; 0: the confirmation says enough. */
  verifyMs(strategies: readonly string[]): number;
}

const confirmMs = 10_000;

/** Plans, writes in transactions that compare all they were decided on, and waits until it is seen to hold. */
export async function steer(
  etcd: Etcd,
  request: SteerRequest,
  direction: Direction,
  ports: DiscoveryPorts,
): Promise<OperationResult> {
  const read = await readState(etcd, request.service, request);
  const result = await carryOut(etcd, request, direction, ports, read);
  // Most services have nothing of the kind, and no second look is taken at them.
  if (request.dryRun || result.error || !mayHaveLeftovers(read.state)) return result;
  return { ...result, cleaned: await cleanUp(etcd, request, ports) };
}

async function carryOut(
  etcd: Etcd,
  request: SteerRequest,
  direction: Direction,
  ports: DiscoveryPorts,
  { state, denied, revision }: Awaited<ReturnType<typeof readState>>,
): Promise<OperationResult> {
  const { service, signal, dryRun, confirmWithinMs } = request;
  const { verb } = direction;
  checkRecordsReadable(request, verb, denied);
  const targets = await findTargets(etcd, service, state.instances(), request);
  const plan = await direction.plan(state.instances(), targets);
  const result = { service, revision, cleaned: [], error: null };
  request.onPlan?.(planned(plan, verb));
  if (dryRun) return { ...result, instances: planned(plan, verb), outcome: 'planned' };
  const open = plan.steps.filter((step) => step.action !== 'none');
  const already = plan.steps.filter((step) => step.action === 'none').map(asItIs);
  if (open.length === 0) return { ...result, instances: already, outcome: 'already' };

  const looking = new Looking(etcd, service, request, ports);
  try {
    const groups = inTransactions(open);
    let written = 0;
    let failure: LbctlError | null = null;
    let last = revision;
    for (const group of groups) {
      try {
        last = (await writeChange(etcd, service, direction, group, request, ports)) ?? last;
        written += group.length;
      } catch (error) {
        if (written === 0 || !isLbctlError(error)) throw error;
        failure = error;
        break;
      }
    }
    const awaited: AwaitedEffect = { service, verb, revision: last, withinMs: confirmWithinMs ?? confirmMs, signal };
    const mine = open.slice(0, written).map(({ address, strategy, why }) => ({ address, strategy, why }));
    const confirmed = await confirm(looking, mine, direction.seen, awaited, ports.clock);
    const instances = [...already, ...confirmed.instances].sort((a, b) => (a.address < b.address ? -1 : 1));
    const done = { ...result, revision: last, instances };
    if (failure) return { ...done, outcome: 'partly', error: partly(failure, written, open.length, verb) };
    if (confirmed.error) return { ...done, outcome: 'unconfirmed', error: confirmed.error };
    const verifyMs = direction.verifyMs(mine.map(({ strategy }) => strategy));
    const broken = verifyMs > 0 ? await verifyOut(looking, mine, { ...awaited, withinMs: verifyMs }) : null;
    if (!broken) return { ...done, outcome: 'done' };
    const asSeen = instances.map(
      (one): OperationInstance =>
        one.address === broken.address ? { ...one, state: 'up', condition: 'out, and in again' } : one,
    );
    return { ...done, instances: asSeen, outcome: 'unconfirmed', error: broken.error };
  } finally {
    await looking.close();
  }
}

/** Without lbctl's records nobody knows what is paused and whose an instance is: every answer would be a guess. */
function checkRecordsReadable(
  { service, overlayRoot }: SteerRequest,
  verb: string,
  denied: readonly ServiceRange[],
): void {
  const records = denied.filter((range) => range.kind !== 'instances').map((range) => range.prefix);
  if (records.length === 0) return;
  throw new LbctlError(
    'ETCD_PERMISSION_DENIED',
    `Could not ${verb} instances of ${service}: this etcd user may not read ${records.join(' and ')}`,
    {
      suggestions: [
        `Let it: etcdctl role grant-permission ROLE --prefix=true readwrite ${new OverlayKeys(overlayRoot).root}`,
      ],
    },
  );
}

function asItIs({ address, instances, strategy, why, condition }: Step): OperationInstance {
  const state = instances.some(isUp) ? 'up' : 'paused';
  return { address, state, strategy, why, changed: false, waitedMs: 0, condition };
}

function planned({ steps }: Plan, verb: string): readonly OperationInstance[] {
  return steps.map((step) => ({
    ...asItIs(step),
    condition: step.action === 'none' ? step.condition : `would ${verb} it (now: ${step.condition})`,
  }));
}

function partly(cause: LbctlError, done: number, all: number, verb: string): LbctlError {
  return new LbctlError(
    'PARTLY_DONE',
    `The ${verb} was written for ${done} of ${all} instances; then: ${cause.message}`,
    { cause, suggestions: cause.suggestions },
  );
}
