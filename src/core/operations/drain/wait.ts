import { type Clock, sleep } from '../../model/clock.js';
import { formatDuration } from '../../model/duration.js';
import { type ErrorCode, isLbctlError, LbctlError } from '../../model/errors.js';
import { wiped } from '../confirm.js';
import type { Condition, ConditionName } from './conditions.js';

/** What a drain tells while it waits; one each time that a condition changes. */
export interface DrainProgress {
  readonly address: string;
  readonly condition: ConditionName;
  readonly state: 'waiting' | 'met';
  /** Since it began to wait for this condition. */
  readonly waitedMs: number;
  readonly detail: string;
}

export interface WaitOptions {
  readonly address: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly progress: (progress: DrainProgress) => void;
}

const lookEveryMs = 200;
/** One look at etcd: short enough that a hung member leaves time for another look. */
const lookWithinMs = 2000;

/** An outage: waiting on may mend it. */
const transient: readonly ErrorCode[] = [
  'ETCD_UNREACHABLE',
  'ETCD_TIMEOUT',
  'ETCD_OUTCOME_UNKNOWN',
  'ETCD_NO_QUORUM',
  'ETCD_TOKEN_INVALID',
];

export function isOutage(error: unknown): error is LbctlError {
  return isLbctlError(error, ...transient) && !(error instanceof EtcdWiped);
}

/** etcd is there and has forgotten what was written: waiting does not bring it back. */
export class EtcdWiped extends LbctlError {
  constructor(service: string) {
    const { code, message, suggestions } = wiped(service, 'pause');
    super(code, message, { suggestions });
  }
}

/** The wait was called off by its signal: no failure, and the state is whatever was reached. */
export class Interrupted extends Error {}

/** Not met in time. */
export class NotMet extends Error {
  /** `away`: etcd did not answer when the time was over, so what is so now is not known. */
  constructor(
    readonly address: string,
    readonly unmet: readonly Condition[],
    readonly timeoutMs: number,
    readonly away: { readonly error: LbctlError; readonly forMs: number } | null,
  ) {
    super(`${unmet.map(({ condition, detail }) => `${condition} (${detail})`).join(', ')}`);
  }
}

/**
 * Looks again and again until all conditions are met. An outage of etcd is only time that passes.
 * @throws NotMet, Interrupted, and what `look` throws when that is no outage.
 */
export async function waitUntilMet(
  look: (call: { readonly timeoutMs: number; readonly signal: AbortSignal }) => Promise<readonly Condition[]>,
  { address, timeoutMs, clock, signal, progress }: WaitOptions,
): Promise<void> {
  const startedAt = clock.monotonic();
  const elapsedMs = () => clock.monotonic() - startedAt;
  const told = new Map<ConditionName, string>();
  const tell = (conditions: readonly Condition[]) => {
    for (const { condition, met, detail } of conditions) {
      const state = met ? 'met' : 'waiting';
      if (told.get(condition) === `${state} ${detail}`) continue;
      told.set(condition, `${state} ${detail}`);
      progress({ address, condition, state, waitedMs: Math.round(elapsedMs()), detail });
    }
  };
  let last: readonly Condition[] = [];
  let away: { readonly error: LbctlError; readonly sinceMs: number } | null = null;
  for (;;) {
    if (signal.aborted) throw new Interrupted();
    try {
      // The last look, too, has time for its answer: cut short it would pass for an outage.
      last = await look({ timeoutMs: lookWithinMs, signal });
      away = null;
      tell(last);
      if (last.every(({ met }) => met)) return;
    } catch (error) {
      if (signal.aborted) throw new Interrupted();
      if (!isOutage(error)) throw error;
      away ??= { error, sinceMs: elapsedMs() };
      tell(unknownNow(last, error));
    }
    if (elapsedMs() >= timeoutMs) {
      const unmet = last.filter(({ met }) => !met);
      throw new NotMet(address, unmet, timeoutMs, away && { error: away.error, forMs: elapsedMs() - away.sinceMs });
    }
    await sleep(clock, Math.min(lookEveryMs, Math.max(1, timeoutMs - elapsedMs())), signal);
  }
}

/** Nothing that was met is taken for granted while etcd is away; nothing is called unmet that was met. */
function unknownNow(last: readonly Condition[], error: LbctlError): readonly Condition[] {
  const first = last.find(({ met }) => !met) ?? last[0];
  return first ? [{ ...first, met: false, detail: `etcd does not answer: ${error.message}` }] : [];
}

/** What a script gets for a wait that was too long: 124, or etcd's code when nobody knows what is so now. */
export function notMetError({ address, unmet, timeoutMs, away }: NotMet, suggestions: readonly string[]): LbctlError {
  const waited = formatDuration(timeoutMs);
  if (away) {
    const forMs = formatDuration(away.forMs);
    const what = unmet.length > 0 ? `; ${describe(unmet)} when it was last seen` : '';
    return new LbctlError(
      away.error.code,
      `Unknown whether ${address} is drained: etcd has not answered for ${forMs} of the ${waited} waited${what}`,
      { cause: away.error, suggestions },
    );
  }
  const health = unmet.find(({ condition }) => condition === 'healthy');
  return new LbctlError(
    health ? 'CHECK_FAILED' : 'TIMEOUT',
    health
      ? `${address} did not become healthy within ${waited}: ${describe(unmet)}`
      : `Waited ${waited} for ${address}, and this is not met: ${describe(unmet)}`,
    { suggestions },
  );
}

function describe(conditions: readonly Condition[]): string {
  return conditions.map(({ condition, detail }) => `${condition} (${detail})`).join(', ');
}
