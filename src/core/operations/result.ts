import type { LbctlError } from '../model/errors.js';

export interface OperationInstance {
  readonly address: string;
  readonly state: 'up' | 'paused' | 'gone';
  readonly strategy: string;
  /** For people: why this strategy; empty when there was nothing to choose. */
  readonly why: string;
  /** This command wrote it: what was so before it came is not its to take back. */
  readonly changed: boolean;
  /** From the write to the confirmation. */
  readonly waitedMs: number;
  /** For people: what was waited for, or why nothing was done. */
  readonly condition: string;
}

export interface OperationResult {
  readonly service: string;
  /** The etcd revision from which on it is so. */
  readonly revision: bigint;
  readonly instances: readonly OperationInstance[];
  /** `already`: nothing was to be done. `unconfirmed`: written, and not seen to hold. `partly`: written for some only. */
  readonly outcome: 'done' | 'already' | 'planned' | 'unconfirmed' | 'partly';
  /** Addresses whose pause was for nothing any more: the record was removed, because their instance is gone for good. */
  readonly cleaned: readonly string[];
  /** What the exit code is made from; null when all is well. */
  readonly error: LbctlError | null;
}
