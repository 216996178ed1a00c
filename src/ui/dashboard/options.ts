import type { Frame, Row } from '../../core/dashboard/frame.js';
import type { DashboardSource } from '../../core/dashboard/source.js';

export const actionNames = ['pause', 'resume', 'drain'] as const;
export type ActionName = (typeof actionNames)[number];

/** What the dashboard can do to an instance. */
export interface Actions {
  /** The command that does the same, as a person would type it. */
  command(action: ActionName, row: Row): string;
  /** Does it; absent: the dashboard only looks. Resolves with what came of it, in words. Rejects with an LbctlError. */
  run?(action: ActionName, row: Row, signal: AbortSignal): Promise<string>;
}

export interface DashboardOptions {
  /** Opened after the first frame is drawn. Rejects with an LbctlError: the terminal is given back, then it is thrown. */
  open(): Promise<DashboardSource>;
  /** What to show until then. */
  readonly opening: Pick<Frame, 'service' | 'context' | 'source'> & { readonly isReplay: boolean };
  readonly actions: Actions;
  readonly intervalMs: number;
  /** Lines below the table, as far as there is room. */
  readonly hints: readonly string[];
  /** Where keys come from. A stream other than process.stdin is to be destroyed after the end by who opened it: it reads on. */
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  /** Ends the view when it aborts. */
  readonly signal: AbortSignal;
}

export interface DashboardEnd {
  readonly how: 'quit' | 'interrupted' | 'ended';
  /** The last frame, for who wants to say something at the end. */
  readonly frame: Frame | null;
  /** Commands that were asked for with `y`: the screen they were on is gone, so they are printed again. */
  readonly commands: readonly string[];
}
