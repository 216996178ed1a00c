import type { Row } from '../../core/dashboard/frame.js';
import { sanitise } from '../../core/model/sanitise.js';
import { type Column, columns } from './columns.js';
import { tableHeight } from './layout.js';
import type { Look } from './look.js';
import type { State } from './state.js';
import { cut, cutMiddle, toCell } from './text.js';

interface Shown {
  readonly column: Column;
  readonly width: number;
}

const marker = 2;
const roomy = 118;

/** Titles, then the rows in sight. */
export function tableLines(state: State, look: Look): string[] {
  const { size, visible, frame } = state;
  if (frame === null) return ['', look.style.dim('  waiting for the first figures…')];
  const gap = size.columns >= roomy ? '  ' : ' ';
  const shown = fittingColumns(frame.rows, size.columns - marker, gap.length, look);
  const titles = shown.map((one) => toCell(titleOf(one.column, state), one.width, one.column.align, look.width));
  const lines = [look.style.bold(`${' '.repeat(marker)}${titles.join(gap)}`.trimEnd())];
  if (visible.length === 0) {
    const why = frame.rows.length === 0 ? 'no instances' : 'no instance matches the filter: Esc clears it';
    return [...lines, look.style.dim(cut(`  ${why}`, size.columns, look.width))];
  }
  for (const row of visible.slice(state.offset, state.offset + tableHeight(state))) {
    lines.push(rowLine(row, shown, gap, state, look));
  }
  return lines;
}

function rowLine(row: Row, shown: readonly Shown[], gap: string, state: State, look: Look): string {
  const { style } = look;
  const trend = state.shownTrends.get(row.id);
  const isSelected = row.id === state.cursor;
  const isPast = (state.frame?.staleForMs ?? null) !== null || row.state === 'paused' || row.state === 'gone';
  const cells = shown.map(({ column, width }) => {
    const value = sanitise(column.value(row, trend));
    const text = column.title === 'ADDRESS' ? cutMiddle(value, width, look.width) : value;
    const cell = toCell(text, width, column.align, look.width);
    return isSelected || isPast ? cell : paint(column.title, row, cell, look);
  });
  const line = `${isSelected ? '> ' : '  '}${cells.join(gap)}`;
  if (isSelected) return style.inverse(line);
  return isPast ? style.dim(line) : line;
}

function paint(title: string, row: Row, cell: string, { style }: Look): string {
  if (title === 'HEALTH' && (row.health === 'ejected' || row.health === 'unhealthy')) return style.red(cell);
  if (title === 'HEALTH' && row.health === 'probing') return style.yellow(cell);
  if (title === 'ERR%' && (row.errorRate ?? 0) > 0) return style.red(cell);
  return cell;
}

/** `^`: the least is on top. */
function titleOf({ title, align, width }: Column, { sort }: State): string {
  if (title !== (sort.column ?? 'ADDRESS')) return title;
  const isAscending = (align === 'left') !== sort.isReversed;
  // Beside a title that fills its column the mark takes the place of its last letter.
  return `${title.slice(0, width - 1)}${isAscending ? '^' : 'v'}`;
}

/** Columns from the left as long as they fit; the address gets what it needs of the room that is left. */
function fittingColumns(rows: readonly Row[], room: number, gap: number, { width }: Look): Shown[] {
  const [address, ...others] = columns;
  if (address === undefined) return [];
  const wanted = rows.reduce(
    (most, row) => Math.max(most, width(sanitise(address.value(row)))),
    address.title.length + 1,
  );
  const least = Math.min(wanted, Math.max(address.width, Math.min(24, Math.floor(room / 4))));
  const shown: Shown[] = [];
  let left = room - least;
  for (const column of others) {
    if (left < column.width + gap) break;
    left -= column.width + gap;
    shown.push({ column, width: column.width });
  }
  return [{ column: address, width: Math.min(wanted, least + Math.max(0, left)) }, ...shown];
}
