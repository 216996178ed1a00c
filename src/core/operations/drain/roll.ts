import { setMaxListeners } from 'node:events';
import { readState } from '../../discovery/read.js';
import type { Etcd } from '../../etcd/port.js';
import { parseHealthTarget } from '../../health/target.js';
import { isLbctlError, LbctlError } from '../../model/errors.js';
import type { Instance } from '../../model/instance.js';
import { isUp } from '../plan.js';
import { operatorsPause, recordedPause } from '../recorded-pause.js';
import { findTargets, type Target } from '../select.js';
import type { Claim } from './claim.js';
import { drainInstances } from './drain.js';
import { checkIdleVisible } from './facts.js';
import { fillPlaceholders } from './plan.js';
import type { DrainInstance, DrainPorts, DrainRequest, DrainResult } from './request.js';
import { lockRoll } from './roll-lock.js';
import { checkSameRoll, RollRecord, type RollState } from './roll-state.js';
import { Interrupted, NotMet, waitUntilMet } from './wait.js';

export interface RollRequest extends Omit<DrainRequest, 'selectors' | 'verb' | 'command'> {
  /** `{host} {port} {address} {id}` stand for what the instance has. */
  readonly command: readonly string[];
  /** So many at once. */
  readonly maxUnavailable: number;
  /** Forget an unfinished roll. */
  readonly restart: boolean;
}

/**
 * Drains, restarts and resumes all instances of a service, some at a time; stops at the first failure. The same command
 * line goes on where an earlier one ended, however it ended.
 * @throws what refuses it before anything is begun: USAGE, NOT_FOUND, GUARD_REFUSED (somebody rolls it, or another roll is
 *   unfinished), ETCD_*. Whatever happens later is in the result.
 */
export async function rollService(etcd: Etcd, request: RollRequest, ports: DrainPorts): Promise<DrainResult> {
  const { service } = request;
  const { state } = await readState(etcd, service, request);
  const targets = await findTargets(etcd, service, state.instances(), { ...request, selectors: [], all: true });
  for (const { address, instances } of targets) {
    parseHealthTarget(request.health, address);
    if (request.untilIdle) await checkIdleVisible(ports, address, instances);
  }
  const record = new RollRecord(etcd, service, request.overlayRoot);
  if (request.dryRun) return plannedRoll(etcd, request, ports, targets, await record.read({}));
  let lock: Claim;
  try {
    lock = await lockRoll(etcd, request, request.command, ports);
  } catch (error) {
    if (!(error instanceof Interrupted) && !request.signal.aborted) throw error;
    return { service, instances: [], outcome: 'interrupted', error: null };
  }
  try {
    const before = request.restart ? null : await record.read({ signal: request.signal });
    if (before) checkSameRoll(service, before, request.command);
    return await new Roll(etcd, request, ports, record, lock, targets, before).run();
  } finally {
    await lock.release();
  }
}

class Roll {
  readonly #etcd: Etcd;
  readonly #request: RollRequest;
  readonly #ports: DrainPorts;
  readonly #record: RollRecord;
  readonly #lock: Claim;
  readonly #signal: AbortSignal;
  readonly #queue: Target[];
  readonly #ends = new Map<string, DrainInstance>();
  #state: RollState;
  #writing: Promise<void> = Promise.resolve();
  #active = 0;
  #failure: { readonly error: LbctlError | null; readonly exitCode?: number } | null = null;

  constructor(
    etcd: Etcd,
    request: RollRequest,
    ports: DrainPorts,
    record: RollRecord,
    lock: Claim,
    targets: readonly Target[],
    before: RollState | null,
  ) {
    this.#etcd = etcd;
    this.#request = request;
    this.#ports = ports;
    this.#record = record;
    this.#lock = lock;
    this.#signal = AbortSignal.any([request.signal, lock.lost]);
    setMaxListeners(0, this.#signal);
    const startedAt = new Date(ports.clock.now()).toISOString();
    this.#state = before ?? { command: request.command, by: request.by, startedAt, done: [] };
    if (before) ports.tell(`Goes on with the roll of ${before.startedAt}: ${before.done.length} done before.`);
    this.#queue = this.#sortOut(targets);
  }

  async run(): Promise<DrainResult> {
    try {
      await this.#save();
      const workers = Array.from({ length: this.#request.maxUnavailable }, () => this.#work());
      await Promise.all(workers);
      if (!this.#failure && this.#queue.length === 0)
        await this.#noted((call) => this.#record.remove(this.#lock.lease, call));
    } catch (error) {
      this.#fail(error);
    }
    return this.#result();
  }

  /** What is out because of an unfinished roll or drain comes first; what somebody has paused is his. */
  #sortOut(targets: readonly Target[]): Target[] {
    const queue: Target[] = [];
    for (const target of targets) {
      const { address, instances } = target;
      const pause = operatorsPause(instances);
      if (this.#state.done.includes(address)) this.#end(instances, 'done before');
      else if (pause) {
        this.#ports.tell(`${address} is left out: paused by ${pause.by}${pause.reason && `: ${pause.reason}`}.`);
        this.#end(instances, `left out: paused by ${pause.by}`);
      } else if (recordedPause(instances)) queue.unshift(target);
      else queue.push(target);
    }
    return queue;
  }

  async #work(): Promise<void> {
    while (!this.#failure && !this.#signal.aborted) {
      const target = this.#queue.shift();
      if (!target) return;
      this.#active++;
      try {
        await this.#one(target);
      } catch (error) {
        this.#active--;
        // Our own others are out: it is its turn when they are back. The last one to work meets the guard itself.
        if (isLbctlError(error, 'GUARD_REFUSED') && this.#active > 0) {
          this.#queue.unshift(target);
          return;
        }
        this.#ends.set(target.address, instanceOf(target.instances, isLbctlError(error) ? error.message : 'failed'));
        this.#fail(error);
        return;
      }
      this.#active--;
    }
  }

  async #one({ address, instances }: Target): Promise<void> {
    const { service, command } = this.#request;
    const filled = fillPlaceholders(command, { service, address, id: instances[0]?.id ?? '' });
    const asked = {
      ...this.#request,
      selectors: [address],
      command: filled,
      verb: 'roll',
      signal: this.#signal,
    } as const;
    let result: DrainResult;
    try {
      result = await this.#overOutages(address, () => drainInstances(this.#etcd, asked, this.#ports), this.#signal);
    } catch (error) {
      if (!isLbctlError(error, 'NOT_FOUND', 'NO_INSTANCE')) throw error;
      this.#ports.tell(`${address} is left out: it is not registered any more.`);
      this.#end(instances, 'left out: not registered any more');
      return;
    }
    const [instance] = result.instances;
    if (instance) this.#ends.set(address, instance);
    if (result.outcome === 'interrupted') return this.#fail(new Interrupted());
    if (result.error) {
      const { error, exitCode } = result;
      this.#failure ??= { error, ...(exitCode !== undefined && { exitCode }) };
      return;
    }
    this.#state = { ...this.#state, done: [...this.#state.done, address] };
    await this.#save();
  }

  /** One write after the other. What was done is noted even when it is interrupted right then. */
  #save(): Promise<void> {
    this.#writing = this.#writing.then(() =>
      this.#noted((call) => this.#record.write(this.#state, this.#lock.lease, call)),
    );
    return this.#writing;
  }

  #noted(write: (call: { readonly timeoutMs: number }) => Promise<void>): Promise<void> {
    return this.#overOutages(this.#request.service, write, this.#lock.lost);
  }

  /** What etcd's absence makes fail before anything is written is tried until the time is over. */
  async #overOutages<T>(
    address: string,
    act: (call: { readonly timeoutMs: number }) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { clock, progress } = this.#ports;
    const found: T[] = [];
    const look = async (call: { readonly timeoutMs: number }) => {
      found.push(await act(call));
      return [];
    };
    try {
      await waitUntilMet(look, { address, timeoutMs: this.#request.waitMs, clock, signal, progress });
    } catch (error) {
      throw error instanceof NotMet && error.away ? error.away.error : error;
    }
    return found[0] as T;
  }

  #fail(error: unknown): void {
    if (this.#lock.lost.aborted) this.#failure ??= { error: this.#lock.lost.reason };
    else if (error instanceof Interrupted || this.#request.signal.aborted) this.#failure ??= { error: null };
    else if (isLbctlError(error)) this.#failure ??= { error };
    else throw error;
  }

  #end(instances: readonly Instance[], condition: string): void {
    this.#ends.set(instances[0]?.address ?? '', instanceOf(instances, condition));
  }

  #result(): DrainResult {
    const { service } = this.#request;
    const left = this.#queue.map(({ address }) => address);
    for (const { instances } of this.#queue) this.#end(instances, 'not begun');
    const instances = [...this.#ends.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
    const isInterrupted = this.#request.signal.aborted || this.#failure?.error === null;
    if (isInterrupted && (left.length > 0 || this.#failure)) {
      return { service, instances, outcome: 'interrupted', error: null };
    }
    if (!this.#failure?.error) return { service, instances, outcome: 'done', error: null };
    const { error, exitCode } = this.#failure;
    const { done } = this.#state;
    if (done.length === 0) {
      return { service, instances, outcome: 'failed', error, ...(exitCode !== undefined && { exitCode }) };
    }
    const rest = left.length > 0 ? ` Not begun: ${left.join(', ')}.` : '';
    const partly = new LbctlError(
      'PARTLY_DONE',
      `Rolled ${done.join(', ')} of ${service}; then: ${error.message}.${rest}`,
      {
        cause: error,
        suggestions: error.suggestions,
      },
    );
    return { service, instances, outcome: 'failed', error: partly };
  }
}

function instanceOf(instances: readonly Instance[], condition: string): DrainInstance {
  const [first] = instances;
  const state = instances.some(isUp) ? 'up' : 'paused';
  const strategy = first?.pause?.strategy ?? '';
  return { address: first?.address ?? '', state, strategy, why: '', changed: false, waitedMs: 0, condition };
}

async function plannedRoll(
  etcd: Etcd,
  request: RollRequest,
  ports: DrainPorts,
  targets: readonly Target[],
  before: RollState | null,
): Promise<DrainResult> {
  const { service } = request;
  if (before && !request.restart) checkSameRoll(service, before, request.command);
  const done = request.restart ? [] : (before?.done ?? []);
  const plans: DrainResult[] = [];
  for (const { address, instances } of targets) {
    if (done.includes(address)) continue;
    const command = fillPlaceholders(request.command, { service, address, id: instances[0]?.id ?? '' });
    plans.push(await drainInstances(etcd, { ...request, selectors: [address], command, verb: 'roll' }, ports));
  }
  const guard = plans[0]?.guard;
  const instances = plans.flatMap((plan) => plan.instances);
  return { service, instances, ...(guard && { guard }), outcome: 'planned', error: null };
}
