import { readService } from '../../core/discovery/read.js';
import type { Etcd } from '../../core/etcd/port.js';
import { sleep, systemClock } from '../../core/model/clock.js';
import { longestTimerMs } from '../../core/model/duration.js';
import { isLbctlError, LbctlError } from '../../core/model/errors.js';
import { type HoldRequest, holdOut } from '../../core/operations/hold.js';
import type { OperationResult } from '../../core/operations/result.js';
import { resumeInstances } from '../../core/operations/resume.js';

/** What a pause has written itself: what was paused before it came is not its to resume. */
export function pausedByIt({ instances, outcome }: OperationResult): readonly string[] {
  return outcome === 'planned' ? [] : instances.filter((one) => one.changed).map((one) => one.address);
}

export interface HoldUntil {
  /** Those of the addresses that this command has paused: the others were out before, and stay so. */
  readonly resumable: readonly string[];
  /** Ends the hold. */
  readonly signal: AbortSignal;
  /** As long as a timer can run when absent. */
  readonly forMs?: number | undefined;
  tell(line: string): void;
}

/**
 * Keeps them out until it is called off or the time is over, then resumes them. Ends early when none of them is held any
 * more. @returns why, when their owners or other operators ended it; null when all went as asked.
 * @throws what the resume failed with, naming what stays paused and how to put it back.
 */
export async function holdAndResume(
  etcd: Etcd,
  request: HoldRequest,
  addresses: readonly string[],
  { resumable, signal, forMs, tell }: HoldUntil,
): Promise<LbctlError | null> {
  const ending = new AbortController();
  const end = () => ending.abort();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const holding = new Set(addresses);
  let lost: LbctlError | null = null;
  const held = await holdOut(etcd, request, addresses, {
    again: (address, strategy) => tell(`${address} came back and was taken out again (${strategy}).`),
    ended: (address, error) => {
      tell(`${address} is not held any more: ${error.message}`);
      lost = error;
      holding.delete(address);
      if (holding.size === 0) end();
    },
    trouble: (address, reason) => tell(`${address} came back; taking it out again failed: ${reason}`),
  });
  await sleep(systemClock, forMs ?? longestTimerMs, ending.signal);
  await held.close();
  if (holding.size === 0) return lost;
  const [mine, others] = [true, false].map((is) => [...holding].filter((one) => resumable.includes(one) === is));
  await endHold(etcd, request, mine ?? []);
  if (mine?.length) tell(`Resumed ${mine.join(', ')}.`);
  if (others?.length) tell(`Still paused, as before this command: ${others.join(', ')}.`);
  return null;
}

/** What somebody else has resumed meanwhile, or whose owner is gone with its record, is well already. */
export async function endHold(etcd: Etcd, request: HoldRequest, addresses: readonly string[]): Promise<void> {
  try {
    const { instances } = await readService(etcd, request.service, request);
    const selectors = addresses.filter((address) => instances.some((one) => one.address === address));
    if (selectors.length === 0) return;
    const { error } = await resumeInstances(etcd, { ...request, selectors });
    if (error) throw error;
  } catch (error) {
    if (!isLbctlError(error)) throw error;
    const names = addresses.join(' ');
    throw new LbctlError(
      error.code,
      `Not resumed, and paused until it is: ${names} of ${request.service}. ${error.message}`,
      {
        cause: error,
        suggestions: [`lbctl resume ${request.service} ${names}`, ...error.suggestions],
      },
    );
  }
}
