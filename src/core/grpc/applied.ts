import { type ChannelOptions, experimental } from '@grpc/grpc-js';
import type { ClientStatistics } from '../stats/client-statistics.js';

/** What spreads a channel's calls over its instances, as a resolver sees it. */
export interface Spread {
  readonly policy: string;
  readonly balancer: {
    /** Calls in flight on addresses that have left the list, by address; only those above 0. */
    leaving(): ReadonlyMap<string, number>;
    /** `listener` is called when that changed, in the place of the one before it. */
    onLeaving(listener: () => void): void;
  };
  /** Who knows the name of the service says it there. */
  readonly statistics: ClientStatistics;
}

/** `isNews`: calls went by another list before. */
export type OnApplied = (spread: Spread, isNews: boolean) => void;

// Keys with this prefix are no part of a subchannel's identity.
const appliedKey = `${experimental.SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX}.lbctl.applied`;

/**
 * The attributes of one answer of a resolver: lbctl's load balancer calls `onApplied` once no pick goes any more to what is
 * not in that answer.
 */
export function withOnApplied(onApplied: OnApplied): Record<string, unknown> {
  return { [appliedKey]: onApplied };
}

export function onAppliedOf(options: ChannelOptions): OnApplied | undefined {
  return options[appliedKey] as OnApplied | undefined;
}
