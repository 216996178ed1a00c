import { joinCluster } from '../discovery/cluster.js';
import { OverlayKeys } from '../discovery/overlay.js';
import { backOffMs, type DiscoveryPorts } from '../discovery/ports.js';
import { readState } from '../discovery/read.js';
import type { DiscoveryOptions, ServiceRange } from '../discovery/service-ranges.js';
import type { Compare, Etcd, Operation } from '../etcd/port.js';
import { sleep } from '../model/clock.js';
import { isLbctlError, LbctlError } from '../model/errors.js';
import type { Instance } from '../model/instance.js';
import type { Plan, Step } from './plan.js';
import type { OperationInstance, OperationResult } from './result.js';
import { selectTargets, type Target } from './select.js';

export interface SteerRequest extends DiscoveryOptions {
  readonly service: string;
  /** Addresses, ids, keys, `zone=…`, `host=…`. */
  readonly selectors: readonly string[];
  readonly all?: boolean;
  /** Plan and stop there. */
  readonly dryRun?: boolean;
  /** How long owners have to follow. Default 10 s. */
  readonly confirmWithinMs?: number;
  readonly signal?: AbortSignal;
}

/** The two directions differ in these. */
export interface Direction {
  readonly verb: 'pause' | 'resume';
  readonly strategy: string;
  plan(instances: readonly Instance[], targets: readonly Target[]): Plan;
  /** What one step writes, at the key of the pause record. */
  write(step: Step, pauseKey: string): Operation;
  /** Whether the write of a lost answer happened, from what stands at the pause key now. */
  happened(value: Buffer | null): boolean;
  /** Null: not yet. */
  confirmed(instances: readonly Instance[]): Pick<OperationInstance, 'state' | 'condition'> | null;
}

/** Addresses in one transaction: each costs up to three of the 128 compares that etcd allows. */
const perTransaction = 30;
const mostAttempts = 4;
const confirmMs = 10_000;

/** Plans, writes in transactions that compare all they were decided on, and waits until the owners have followed. */
export async function steer(
  etcd: Etcd,
  request: SteerRequest,
  direction: Direction,
  ports: DiscoveryPorts,
): Promise<OperationResult> {
  const { service } = request;
  const { state, denied } = await readState(etcd, service, request);
  checkRecordsReadable(request, direction, denied);
  const targets = selectTargets(service, state.instances(), request);
  const plan = direction.plan(state.instances(), targets);
  if (request.dryRun) return planned(service, plan, direction);
  const open = plan.steps.filter((step) => step.action !== 'none');
  const already = plan.steps.filter((step) => step.action === 'none').map((step) => asItIs(step, direction));
  if (open.length === 0) return { service, instances: already, outcome: 'already', error: null };

  const startedAt = ports.clock.monotonic();
  const written: string[] = [];
  let failure: LbctlError | null = null;
  for (let from = 0; from < open.length && !failure; from += perTransaction) {
    const addresses = open.slice(from, from + perTransaction).map((step) => step.address);
    try {
      await writeSome(etcd, request, direction, addresses);
      written.push(...addresses);
    } catch (error) {
      if (written.length === 0 || !isLbctlError(error)) throw error;
      failure = error;
    }
  }
  const confirmed = await confirm(etcd, request, direction, written, startedAt, ports);
  const waiting = written.filter((address) => !confirmed.has(address));
  const instances = [
    ...already,
    ...written.map((address) => confirmed.get(address) ?? unconfirmed(address, direction, request)),
  ];
  instances.sort((a, b) => (a.address < b.address ? -1 : 1));
  if (failure)
    return { service, instances, outcome: 'partly', error: partly(failure, written.length, open.length, direction) };
  if (waiting.length > 0)
    return { service, instances, outcome: 'unconfirmed', error: notFollowed(waiting, direction, request) };
  return { service, instances, outcome: 'done', error: null };
}

/** Without lbctl's records nobody knows what is paused and whose an instance is: every answer would be a guess. */
function checkRecordsReadable(
  { service, overlayRoot }: SteerRequest,
  { verb }: Direction,
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

/** One transaction for some addresses, planned on a fresh read and tried again when somebody else was faster. */
async function writeSome(
  etcd: Etcd,
  request: SteerRequest,
  direction: Direction,
  addresses: readonly string[],
): Promise<void> {
  const { service, signal } = request;
  const overlay = new OverlayKeys(request.overlayRoot);
  const guardKey = overlay.guard(service);
  const call = signal ? { signal } : {};
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    // The guard first: whoever writes between the two reads bumps it, and the transaction fails.
    const guard = (await etcd.list({ key: guardKey }, call)).kvs[0];
    const { state } = await readState(etcd, service, request);
    const instances = state.instances();
    const targets = addresses.map((address) => ({
      address,
      instances: instances.filter((instance) => instance.address === address),
    }));
    const plan = direction.plan(
      instances,
      targets.filter((target) => target.instances.length > 0),
    );
    const steps = plan.steps.filter((step) => step.action === direction.verb);
    if (steps.length === 0) return;
    const compares: Compare[] = [
      unchanged(guardKey, guard?.modRevision ?? 0n),
      ...steps.map(({ address }) => unchanged(overlay.pause(service, address), state.pauseRevision(address))),
      ...[...steps.flatMap((step) => step.instances), ...plan.countedOn]
        .filter((instance) => instance.admin === 'up')
        .map((instance) => unchanged(instance.key, instance.modRevision)),
    ];
    const operations: Operation[] = [
      { put: guardKey, value: direction.verb },
      ...steps.map((step) => direction.write(step, overlay.pause(service, step.address))),
    ];
    const sample = overlay.pause(service, steps[0]?.address ?? '');
    if (await commit(etcd, compares.slice(0, 128), operations, sample, direction, call)) return;
  }
  throw new LbctlError(
    'WRITE_CONFLICT',
    `Others changed ${service} each of ${mostAttempts} times that ${direction.verb} tried`,
    {
      suggestions: [`lbctl list ${service} shows what is so now; then try again.`],
    },
  );
}

async function commit(
  etcd: Etcd,
  compares: readonly Compare[],
  operations: readonly Operation[],
  sampleKey: string,
  direction: Direction,
  call: { signal?: AbortSignal },
): Promise<boolean> {
  try {
    return (await etcd.txn({ compare: compares, success: operations }, call)).succeeded;
  } catch (error) {
    if (!isLbctlError(error, 'ETCD_OUTCOME_UNKNOWN')) throw error;
    // All or nothing was written, so one record tells. Not written yet may still be written later: then the guard
    // makes the next attempt fail, and the one after it sees the record.
    const listing = await etcd.list({ key: sampleKey }, call).catch(() => null);
    // Nobody can tell: that, and not the failed look, is the outcome.
    if (listing === null) throw error;
    return direction.happened(listing.kvs[0]?.value ?? null);
  }
}

function unchanged(key: string, revision: bigint): Compare {
  return { key, target: 'mod', is: '=', value: revision };
}

async function confirm(
  etcd: Etcd,
  request: SteerRequest,
  direction: Direction,
  addresses: readonly string[],
  startedAt: number,
  ports: DiscoveryPorts,
): Promise<Map<string, OperationInstance>> {
  const { clock } = ports;
  const found = new Map<string, OperationInstance>();
  if (addresses.length === 0) return found;
  const look = async () => {
    const { state } = await readState(etcd, request.service, request);
    const instances = state.instances();
    for (const address of addresses) {
      const seen = !found.has(address) && direction.confirmed(instances.filter((one) => one.address === address));
      if (!seen) continue;
      const waitedMs = Math.round(clock.monotonic() - startedAt);
      found.set(address, { address, strategy: direction.strategy, waitedMs, ...seen });
    }
  };
  // What was written stands, whatever etcd does meanwhile: an outage here is no failure, only time that passes.
  const ending = new AbortController();
  const pauseFor = (attempt: number) => sleep(clock, backOffMs(attempt, ports.rng), ending.signal);
  await new Promise<void>((resolve) => {
    let looking = false;
    let again = false;
    const finish = () => {
      timer.cancel();
      request.signal?.removeEventListener('abort', finish);
      ending.abort();
      void membership.then((joined) => joined?.close()).then(resolve);
    };
    const run = async () => {
      for (let failures = 0; again && found.size < addresses.length; ) {
        again = false;
        try {
          await look();
          failures = 0;
        } catch {
          await pauseFor(failures++);
          again = !ending.signal.aborted;
        }
      }
      looking = false;
      if (found.size === addresses.length) finish();
    };
    const glance = () => {
      again = true;
      if (looking) return;
      looking = true;
      void run();
    };
    const join = async () => {
      for (let attempt = 0; !ending.signal.aborted; attempt++) {
        try {
          const listener = { current: glance, changed: glance, arriving: glance, live: glance };
          return await joinCluster(etcd, request.service, listener, request, ports);
        } catch {
          await pauseFor(attempt);
        }
      }
      return null;
    };
    const timer = clock.timer(request.confirmWithinMs ?? confirmMs, finish);
    request.signal?.addEventListener('abort', finish, { once: true });
    const membership = join();
    if (request.signal?.aborted) finish();
  });
  return found;
}

function asItIs({ address, instances, condition }: Step, direction: Direction): OperationInstance {
  const up = instances.some((instance) => instance.admin === 'up');
  return { address, state: up ? 'up' : 'paused', strategy: direction.strategy, waitedMs: 0, condition };
}

function planned(service: string, { steps }: Plan, direction: Direction): OperationResult {
  const instances = steps.map((step) => ({
    ...asItIs(step, direction),
    condition: step.action === 'none' ? step.condition : `would ${direction.verb} it (now: ${step.condition})`,
  }));
  return { service, instances, outcome: 'planned', error: null };
}

function unconfirmed(
  address: string,
  { verb, strategy }: Direction,
  { confirmWithinMs = confirmMs }: SteerRequest,
): OperationInstance {
  const state = verb === 'pause' ? 'up' : 'paused';
  return {
    address,
    state,
    strategy,
    waitedMs: confirmWithinMs,
    condition: `asked to ${verb}; its owner has not followed`,
  };
}

function notFollowed(
  waiting: readonly string[],
  { verb }: Direction,
  { service, confirmWithinMs = confirmMs }: SteerRequest,
): LbctlError {
  const undo = verb === 'pause' ? 'resume' : 'pause';
  return new LbctlError(
    'TIMEOUT',
    `The ${verb} stands in etcd, but ${waiting.join(', ')} did not follow within ${confirmWithinMs} ms`,
    {
      suggestions: [
        `lbctl watch ${service} shows when it does.`,
        `lbctl ${undo} ${service} ${waiting.join(' ')} takes it back.`,
      ],
    },
  );
}

function partly(cause: LbctlError, done: number, all: number, { verb }: Direction): LbctlError {
  return new LbctlError(
    'PARTLY_DONE',
    `The ${verb} was written for ${done} of ${all} instances; then: ${cause.message}`,
    {
      cause,
      suggestions: cause.suggestions,
    },
  );
}
