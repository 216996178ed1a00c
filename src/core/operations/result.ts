import type { LbctlError } from '../model/errors.js';

export interface OperationInstance {
  readonly address: string;
  readonly state: 'up' | 'paused' | 'gone';
  readonly strategy: string;
  /** From the write to the confirmation. */
  readonly waitedMs: number;
  /** For people: what was waited for, or why nothing was done. */
  readonly condition: string;
}

export interface OperationResult {
  readonly service: string;
  readonly instances: readonly OperationInstance[];
  /** `already`: nothing was to be done. `unconfirmed`: written, and not every owner followed in time. `partly`: some. */
  readonly outcome: 'done' | 'already' | 'planned' | 'unconfirmed' | 'partly';
  /** What the exit code is made from; null when all is well. */
  readonly error: LbctlError | null;
}
