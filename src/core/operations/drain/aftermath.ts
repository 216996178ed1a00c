import { setMaxListeners } from 'node:events';
import { OverlayKeys } from '../../discovery/overlay.js';
import type { Etcd } from '../../etcd/port.js';
import { formatDuration } from '../../model/duration.js';
import { isLbctlError, LbctlError, messageOf } from '../../model/errors.js';
import { appendLog } from '../log.js';
import { operatorsPause } from '../recorded-pause.js';
import { resumeInstances } from '../resume.js';
import { describeHolder, readClaim } from './claim.js';
import { isOut, isPaused } from './conditions.js';
import { CommandFailed } from './drain-one.js';
import { instancesAt } from './facts.js';
import type { DrainInstance, DrainPorts, DrainRequest } from './request.js';
import { Interrupted, NotMet, notMetError } from './wait.js';

/** What a failed or interrupted drain of one address left behind. */
export interface Aftermath {
  readonly instance: DrainInstance;
  /** Null: it was interrupted. */
  readonly error: LbctlError | null;
  readonly exitCode?: number;
}

/** A look at what is so, or the resume of `--on-failure resume`, is not waited for longer than this. */
const afterwardsMs = 3000;

/** Puts it back when that was asked for, looks at what is so now, and says which command goes on or takes back. */
export async function aftermath(
  etcd: Etcd,
  request: DrainRequest,
  ports: DrainPorts,
  one: Pick<DrainInstance, 'address'> & Partial<DrainInstance>,
  failure: unknown,
): Promise<Aftermath> {
  const { address } = one;
  const problem = request.onFailure === 'resume' ? await putBack(etcd, request, ports, one) : null;
  const state = await stateNow(etcd, request, address);
  const words = [stateWords(state, one.strategy), ...(problem === null ? [] : [`not resumed: ${problem}`])].join('; ');
  const blank = { strategy: '', why: '', changed: false, waitedMs: 0 };
  const instance = { ...blank, ...one, state, condition: `${reasonOf(failure)}; ${words}` };
  // An etcd that just did not answer is not asked once more.
  if (state !== 'unknown') await logged(etcd, request, ports, instance);
  if (failure instanceof Interrupted) return { instance, error: null };
  const suggestions = nextSteps(request, address, state);
  return { instance, ...errorOf(failure, words, suggestions) };
}

async function putBack(
  etcd: Etcd,
  request: DrainRequest,
  ports: DrainPorts,
  { address, changed = true }: Pick<DrainInstance, 'address'> & Partial<DrainInstance>,
): Promise<string | null> {
  // Even when it was interrupted: that is what it was asked for.
  const { signal: _, ...rest } = request;
  const signal = AbortSignal.timeout(afterwardsMs);
  setMaxListeners(0, signal);
  try {
    const { instances } = await instancesAt(etcd, request, address, { signal });
    // Ours was given back: whoever has it now works on an instance that is out.
    const other = await readClaim(etcd, new OverlayKeys(request.overlayRoot).drain(request.service, address), {
      signal,
    });
    if (other?.holder.state === 'running') return `${describeHolder(other.holder)} drains it`;
    const pause = changed ? null : operatorsPause(instances);
    if (pause) return `it was paused before, by ${pause.by}`;
    const asked = { ...rest, selectors: [address], confirmWithinMs: afterwardsMs, signal };
    const { error } = await resumeInstances(etcd, asked, ports);
    return error?.message ?? null;
  } catch (error) {
    return messageOf(error);
  }
}

/** In the service's log, where the pause and the resume are; it is no reason to fail once more. */
async function logged(etcd: Etcd, request: DrainRequest, ports: DrainPorts, instance: DrainInstance): Promise<void> {
  const { service, by, verb, reason, overlayRoot } = request;
  const at = new Date(ports.clock.now()).toISOString();
  const entry = { at, by, verb, what: instance.condition, strategy: '', addresses: [instance.address], reason };
  const options = overlayRoot === undefined ? {} : { overlayRoot };
  await appendLog(etcd, service, entry, { ...options, timeoutMs: afterwardsMs }).catch(() => {});
}

async function stateNow(etcd: Etcd, request: DrainRequest, address: string): Promise<DrainInstance['state']> {
  try {
    const { instances } = await instancesAt(etcd, request, address, { timeoutMs: afterwardsMs });
    if (isOut(instances)) return 'paused';
    if (instances.some(({ admin }) => admin === 'up')) return 'up';
    return isPaused(instances) ? 'paused' : 'gone';
  } catch {
    return 'unknown';
  }
}

function stateWords(state: DrainInstance['state'], strategy = 'managed'): string {
  switch (state) {
    case 'paused':
      return strategy === 'managed'
        ? 'it stays out of rotation'
        : 'it is out of rotation, until its server registers anew: nobody holds it any more';
    case 'up':
      return 'it is in rotation';
    case 'gone':
      return 'nobody registers it, and no pause stands';
    case 'unknown':
      return 'whether it is out of rotation is unknown';
  }
}

/** Which command goes on, and which takes back. */
export function nextSteps({ service }: DrainRequest, address: string, state: DrainInstance['state']): string[] {
  const goOn = 'The same command line goes on with it.';
  if (state === 'up' || state === 'gone') return [goOn];
  return [goOn, `lbctl resume ${service} ${address} puts it back.`];
}

function reasonOf(failure: unknown): string {
  if (failure instanceof Interrupted) return 'interrupted';
  if (failure instanceof NotMet) return `not met within ${formatDuration(failure.timeoutMs)}: ${failure.message}`;
  return messageOf(failure);
}

function errorOf(failure: unknown, words: string, suggestions: readonly string[]): Omit<Aftermath, 'instance'> {
  if (failure instanceof NotMet) {
    const { code, message, cause } = notMetError(failure, []);
    return { error: new LbctlError(code, `${message}; ${words}`, { cause, suggestions }) };
  }
  if (failure instanceof CommandFailed) {
    const error = new LbctlError('COMMAND_FAILED', `${failure.message}; ${words}`, { suggestions });
    return { error, exitCode: failure.exitCode };
  }
  if (!isLbctlError(failure)) throw failure;
  const all = [...failure.suggestions, ...suggestions];
  const { code, message, cause } = failure;
  return { error: new LbctlError(code, `${message}; ${words}`, { cause, suggestions: all }) };
}
