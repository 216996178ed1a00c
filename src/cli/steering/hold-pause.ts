import { readService } from '../../core/discovery/read.js';
import type { Etcd } from '../../core/etcd/port.js';
import { isLbctlError, LbctlError } from '../../core/model/errors.js';
import type { OperationResult } from '../../core/operations/result.js';
import { resumeInstances } from '../../core/operations/resume.js';
import type { SteerRequest } from '../../core/operations/steer.js';

/** What a pause has written itself: what was paused before it came is not its to resume. */
export function pausedByIt({ instances, outcome }: OperationResult): readonly string[] {
  if (outcome === 'planned') return [];
  return instances.filter((one) => one.waitedMs > 0).map((one) => one.address);
}

/**
 * Ends a held pause. What somebody else has resumed meanwhile, or whose owner is gone with its record, is well already.
 * @throws what the resume failed with, naming what stays paused and how to put it back.
 */
export async function endHold(
  etcd: Etcd,
  request: Omit<SteerRequest, 'selectors' | 'all' | 'signal'>,
  addresses: readonly string[],
): Promise<void> {
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
