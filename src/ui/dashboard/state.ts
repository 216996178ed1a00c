import type { Frame, Row } from '../../core/dashboard/frame.js';
import type { ActionName, DashboardOptions } from './options.js';
import type { Sort } from './rows.js';
import type { Trends } from './trends.js';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** What the keys mean at the moment. */
export type Mode =
  | { readonly kind: 'table' }
  /** `before`: what the filter was, for esc. */
  | { readonly kind: 'filter'; readonly before: string }
  | { readonly kind: 'detail'; readonly id: string; readonly scroll: number }
  /** `behind`: what it covers. */
  | { readonly kind: 'help'; readonly scroll: number; readonly behind: Mode }
  | { readonly kind: 'confirm'; readonly action: ActionName; readonly row: Row; readonly command: string };

/** Everything that decides what is on the screen. */
export interface State {
  readonly opening: DashboardOptions['opening'];
  /** Null until the source has opened. */
  readonly frame: Frame | null;
  readonly isFrozen: boolean;
  /** The source has no more to tell. */
  readonly isEnded: boolean;
  readonly trends: Trends;
  /** As they are drawn: while it is frozen they stand, and `trends` go on. */
  readonly shownTrends: Trends;
  readonly filter: string;
  readonly sort: Sort;
  /** `frame.rows` filtered and sorted. */
  readonly visible: readonly Row[];
  /** Id of the row under the cursor: it follows the instance, not the line. */
  readonly cursor: string | null;
  /** How many visible rows are above the first line of the table. */
  readonly offset: number;
  readonly mode: Mode;
  /** The action under way, in words. */
  readonly running: string | null;
  readonly message: { readonly text: string; readonly isError: boolean } | null;
  /** The last action that a key asked for: `y` shows its command. */
  readonly asked: { readonly id: string; readonly action: ActionName } | null;
  /** Commands that were asked for, each once. */
  readonly commands: readonly string[];
  readonly intervalMs: number;
  readonly hints: readonly string[];
  readonly size: Size;
}

export function initialState(options: Pick<DashboardOptions, 'opening' | 'hints' | 'intervalMs'>, size: Size): State {
  return {
    opening: options.opening,
    frame: null,
    isFrozen: false,
    isEnded: false,
    trends: new Map(),
    shownTrends: new Map(),
    filter: '',
    sort: { column: null, isReversed: false },
    visible: [],
    cursor: null,
    offset: 0,
    mode: { kind: 'table' },
    running: null,
    message: null,
    asked: null,
    commands: [],
    intervalMs: Math.max(100, options.intervalMs),
    hints: options.hints,
    size,
  };
}
