import type { Clock } from '../model/clock.js';
import { LbctlError } from '../model/errors.js';
import type { Instance, Strategy } from '../model/instance.js';
import type { Look, Looking, NotFound } from './looking.js';
import { isUp } from './plan.js';
import type { OperationInstance } from './result.js';

/** What was written about an address. */
export interface Written {
  readonly address: string;
  readonly strategy: Strategy;
  readonly why: string;
}

export type Seen = Pick<OperationInstance, 'state' | 'condition'> & { readonly error?: LbctlError };

export interface AwaitedEffect {
  readonly service: string;
  readonly verb: 'pause' | 'resume';
  /** The revision of the write. */
  readonly revision: bigint;
  readonly withinMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Waits until each address is seen to be as it was asked for; gives what is known of all of them, and the first error. */
export async function confirm(
  looking: Looking,
  written: readonly Written[],
  seen: (one: Written, instances: readonly Instance[], look: Look) => Seen | null,
  awaited: AwaitedEffect,
  clock: Clock,
): Promise<{ instances: readonly OperationInstance[]; error: LbctlError | null }> {
  const startedAt = clock.monotonic();
  const found = new Map<string, OperationInstance>();
  let error: LbctlError | null = null;
  const { service, verb } = awaited;
  const outcome = await looking.until((look) => {
    if (look.revision < awaited.revision) return wiped(service, verb);
    for (const one of written) {
      const now = found.has(one.address) ? null : seen(one, at(look, one.address), look);
      if (!now) continue;
      const { error: failure, ...rest } = now;
      error ??= failure ?? null;
      found.set(one.address, { ...one, changed: true, waitedMs: Math.round(clock.monotonic() - startedAt), ...rest });
    }
    return found.size === written.length ? true : undefined;
  }, awaited);
  const waitedMs = Math.round(clock.monotonic() - startedAt);
  const instances = written.map(
    (one): OperationInstance =>
      found.get(one.address) ?? {
        ...one,
        changed: true,
        state: verb === 'pause' ? 'up' : 'paused',
        waitedMs,
        condition: `asked to ${verb}; its owner has not followed`,
      },
  );
  const waiting = written.map(({ address }) => address).filter((address) => !found.has(address));
  if (outcome.found instanceof LbctlError) error = outcome.found;
  else if (outcome.found === undefined) error ??= unconfirmed(waiting, outcome, awaited);
  return { instances, error };
}

/** Watches for so long that what was taken out stays out. Null: it did. `address`: the one that did not. */
export async function verifyOut(
  looking: Looking,
  written: readonly Written[],
  awaited: AwaitedEffect,
): Promise<{ address: string; error: LbctlError } | null> {
  const { service, revision } = awaited;
  const outcome = await looking.until((look) => {
    if (look.revision < revision) return { address: '', error: wiped(service, 'pause') };
    for (const { address, strategy } of written) {
      if (!at(look, address).some(isUp)) continue;
      const isPaused = look.state.pauseRecord(address) !== null;
      return { address, error: isPaused ? putBack(service, address, strategy) : resumedMeanwhile(service, address) };
    }
    return undefined;
  }, awaited);
  if (outcome.found) return outcome.found;
  if (outcome.why !== 'etcd') return null;
  const names = written.map(({ address }) => address).join(', ');
  const error = unknown(
    `${names} of ${service} was paused; whether it stays out is unknown: ${outcome.detail}`,
    service,
  );
  return { address: '', error };
}

/** The owner registered it again. */
export function putBack(service: string, address: string, strategy: Strategy): LbctlError {
  const remedies: Record<Strategy, string[]> = {
    managed: [],
    delete: [
      'Its server looks after its key, as go-zero does from v1.9.0 on. If every client is go-zero v1.10.2 or newer:',
      `lbctl pause ${service} ${address} --strategy mask`,
    ],
    mask: [`lbctl pause ${service} ${address} --strategy mask --hold masks it again whenever it comes back.`],
  };
  return new LbctlError(
    'OWNER_REREGISTERED',
    `${address} of ${service} was taken out (${strategy}), and its owner registered it again: it takes calls`,
    {
      suggestions: [...remedies[strategy], `lbctl resume ${service} ${address} removes the record of the pause.`],
    },
  );
}

export function resumedMeanwhile(service: string, address: string): LbctlError {
  return new LbctlError('WRITE_CONFLICT', `${address} of ${service} was resumed by somebody else meanwhile`, {
    suggestions: [`lbctl log ${service} shows who did it.`],
  });
}

export function wiped(service: string, verb: string): LbctlError {
  return unknown(
    `etcd was wiped or restored to an earlier state after the ${verb} was written: what became of ${service} is unknown`,
    service,
  );
}

function unconfirmed(
  waiting: readonly string[],
  outcome: NotFound,
  { service, verb, withinMs }: AwaitedEffect,
): LbctlError {
  const names = waiting.join(', ');
  if (outcome.why === 'etcd') {
    return unknown(`The ${verb} of ${names} was written, but whether it holds is unknown: ${outcome.detail}`, service);
  }
  const undo = verb === 'pause' ? 'resume' : 'pause';
  const how = outcome.why === 'signal' ? 'before it was called off' : `within ${withinMs} ms`;
  return new LbctlError('TIMEOUT', `The ${verb} stands in etcd, but ${names} did not follow ${how}`, {
    suggestions: [
      `lbctl watch ${service} shows when it does.`,
      `lbctl ${undo} ${service} ${waiting.join(' ')} takes it back.`,
    ],
  });
}

function unknown(message: string, service: string): LbctlError {
  return new LbctlError('ETCD_OUTCOME_UNKNOWN', message, {
    suggestions: [`lbctl list ${service} shows what is so, once etcd answers; the same command may be run again.`],
  });
}

function at(look: Look, address: string): readonly Instance[] {
  return look.instances.filter((instance) => instance.address === address);
}
