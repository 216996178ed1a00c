import { readState } from '../../discovery/read.js';
import type { Etcd } from '../../etcd/port.js';
import { parseHealthTarget } from '../../health/target.js';
import { isLbctlError, LbctlError } from '../../model/errors.js';
import type { OperationInstance, OperationResult } from '../result.js';
import { findTargets } from '../select.js';
import { type Aftermath, aftermath } from './aftermath.js';
import { type Drained, OneDrain } from './drain-one.js';
import { checkIdleVisible } from './facts.js';
import { pauseAll, standingOf } from './pause.js';
import { plannedDrain } from './plan.js';
import type { DrainInstance, DrainPorts, DrainRequest, DrainResult } from './request.js';
import { Interrupted } from './wait.js';

/**
 * Takes instances out, waits until nobody uses them, and with a command runs it, waits for each to be back and healthy and
 * puts it back. Run again at any moment, even after kill -9, it goes on to the same end.
 * @throws what refuses it before anything is paused: USAGE, NOT_FOUND, AMBIGUOUS, NOT_MANAGED, GUARD_REFUSED,
 *   WRITE_CONFLICT, ETCD_*. Whatever happens later is in the result, with the state it left behind.
 */
export async function drainInstances(etcd: Etcd, request: DrainRequest, ports: DrainPorts): Promise<DrainResult> {
  const { service } = request;
  const { state } = await readState(etcd, service, request);
  const instances = state.instances();
  const targets = await findTargets(etcd, service, instances, request);
  for (const { address, instances: there } of targets) {
    parseHealthTarget(request.health, address);
    if (request.untilIdle) await checkIdleVisible(ports, address, there);
  }
  const addresses = targets.map(({ address }) => address);
  if (request.dryRun) {
    return plannedDrain(await pauseAll(etcd, request, addresses, ports), request, instances);
  }
  let paused: OperationResult;
  try {
    paused = await pauseAll(etcd, request, addresses, ports);
  } catch (error) {
    // Anything else was refused before it was written.
    if (!request.signal.aborted && !isLbctlError(error, 'ETCD_OUTCOME_UNKNOWN')) throw error;
    return notPaused(etcd, request, ports, addresses, error);
  }
  ports.paused(paused);
  if (paused.error) return notPaused(etcd, request, ports, addresses, paused.error);
  const ends = await Promise.all(paused.instances.map((one) => oneEnd(etcd, request, ports, one)));
  return together(service, ends);
}

/** The pause did not come to its end: nothing goes on from there. */
async function notPaused(
  etcd: Etcd,
  request: DrainRequest,
  ports: DrainPorts,
  addresses: readonly string[],
  error: unknown,
): Promise<DrainResult> {
  const failure = request.signal.aborted ? new Interrupted() : error;
  const ends = addresses.map((address) => aftermath(etcd, request, ports, { address }, failure));
  return together(request.service, await Promise.all(ends));
}

async function oneEnd(
  etcd: Etcd,
  request: DrainRequest,
  ports: DrainPorts,
  one: OperationInstance,
): Promise<Drained | Aftermath> {
  const startedAt = ports.clock.monotonic();
  try {
    if (one.state === 'gone') return ended(request, one);
    const standing = await standingOf(etcd, request, one);
    return await new OneDrain(etcd, request, ports, standing).run();
  } catch (error) {
    const waitedMs = one.waitedMs + Math.round(ports.clock.monotonic() - startedAt);
    return aftermath(etcd, request, ports, { ...one, waitedMs }, error);
  }
}

/** It went while it was taken out: nothing uses it, and there is nothing to come back. */
function ended({ service, command }: DrainRequest, instance: DrainInstance): Drained {
  if (command === null) return { instance, joined: false };
  throw new LbctlError('NOT_FOUND', `${instance.address} of ${service} ended before it could be paused`, {
    suggestions: ['Start it; there is nothing to drain.'],
  });
}

/** Of several failures the first is told as the error, the others in their lines. */
function together(service: string, ends: ReadonlyArray<Drained | Aftermath>): DrainResult {
  const instances = ends.map(({ instance }) => instance);
  const failed = ends.filter((end) => 'error' in end);
  const first = failed.find((end) => end.error !== null);
  if (first?.error) {
    const { error, exitCode } = first;
    return { service, instances, outcome: 'failed', error, ...(exitCode !== undefined && { exitCode }) };
  }
  if (failed.length > 0) return { service, instances, outcome: 'interrupted', error: null };
  const joined = ends.length > 0 && ends.every((end) => 'joined' in end && end.joined);
  return { service, instances, outcome: joined ? 'joined' : 'done', error: null };
}
