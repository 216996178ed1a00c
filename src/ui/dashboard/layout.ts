import type { Size, State } from './state.js';

/** Below this there is one line. */
const least: Size = { columns: 40, rows: 8 };

export function isTiny({ columns, rows }: Size): boolean {
  return columns < least.columns || rows < least.rows;
}

/**
 * Lines that may be drawn. ink clears the whole terminal, scrollback included, before a frame of as many lines as the
 * terminal has; and after the last line the cursor stands on one more.
 */
export function frameHeight({ rows }: Size): number {
  return Math.max(1, rows - 1);
}

export function headerHeight({ rows }: Size): number {
  return rows >= 14 ? 2 : 1;
}

export function noticesHeight({ size, frame }: Pick<State, 'size' | 'frame'>): number {
  return Math.min(frame?.notices.length ?? 0, size.rows >= 20 ? 3 : size.rows >= 14 ? 2 : 1);
}

/** Lines between the header with its notices and the last line. */
export function bodyHeight(state: Pick<State, 'size' | 'frame'>): number {
  const { size } = state;
  return Math.max(1, frameHeight(size) - headerHeight(size) - noticesHeight(state) - 1);
}

/** Of them, the rows of the table: below its titles. */
export function tableHeight(state: Pick<State, 'size' | 'frame'>): number {
  return Math.max(1, bodyHeight(state) - 1);
}
