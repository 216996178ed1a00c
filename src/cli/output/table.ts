import { sanitise } from '../../core/model/sanitise.js';
import { plainStyle, type Style } from './colour.js';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: 'right';
  /** Dropped first when the terminal is too narrow; absent: never dropped, only cut. Higher goes first. */
  readonly dropOrder?: number;
  readonly paint?: (row: Row, style: Style) => ((text: string) => string) | undefined;
}

export interface TableOptions {
  /** Columns of the terminal; absent (a pipe, a file): as wide as the content, nothing dropped or cut. */
  readonly width?: number | undefined;
  readonly style?: Style;
}

const gap = 2;
const narrowest = 6;

type Measure = (text: string) => number;

/** Rows as text, one line each, with a header; ends with a newline. Cells are sanitised here, so none can be forgotten. */
export async function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  options: TableOptions = {},
): Promise<string> {
  const style = options.style ?? plainStyle;
  const filled = columns.map((column) => ({ column, cells: rows.map((row) => sanitise(column.value(row))) }));
  const width = await measureFor(filled.map(({ cells }) => cells.join('')));
  const all = filled.map(({ column, cells }) => {
    return { column, cells, width: cells.reduce((widest, cell) => Math.max(widest, width(cell)), width(column.title)) };
  });
  const shown = fitted(all, options.width);
  const lines = [shown.map((entry) => style.bold(pad(entry.column.title, entry, width))).join(' '.repeat(gap))];
  rows.forEach((row, index) => {
    const cells = shown.map((entry) => {
      const text = pad(cut(entry.cells[index] ?? '', entry.width, width), entry, width);
      return entry.column.paint?.(row, style)?.(text) ?? text;
    });
    lines.push(cells.join(' '.repeat(gap)));
  });
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

interface Sized<Row> {
  readonly column: Column<Row>;
  readonly cells: readonly string[];
  readonly width: number;
}

function fitted<Row>(all: ReadonlyArray<Sized<Row>>, limit: number | undefined): ReadonlyArray<Sized<Row>> {
  if (limit === undefined) return all;
  let shown = [...all];
  while (total(shown) > limit) {
    const droppable = shown.filter((entry) => entry.column.dropOrder !== undefined);
    const victim = droppable.sort((a, b) => (b.column.dropOrder ?? 0) - (a.column.dropOrder ?? 0))[0];
    if (victim === undefined) break;
    shown = shown.filter((entry) => entry !== victim);
  }
  // What is left is essential: the widest gives way, a column at a time.
  let excess = total(shown) - limit;
  while (excess > 0) {
    const widest = shown.reduce((a, b) => (b.width > a.width ? b : a));
    if (widest.width <= narrowest) break;
    const next = Math.max(narrowest, widest.width - excess);
    excess -= widest.width - next;
    shown = shown.map((entry) => (entry === widest ? { ...entry, width: next } : entry));
  }
  return shown;
}

function total(entries: ReadonlyArray<{ width: number }>): number {
  return entries.reduce((sum, entry) => sum + entry.width, 0) + gap * Math.max(0, entries.length - 1);
}

function pad<Row>(text: string, entry: Sized<Row>, width: Measure): string {
  const length = entry.width + text.length - width(text);
  return entry.column.align === 'right' ? text.padStart(length) : text.padEnd(length);
}

/** At most `limit` cells wide, with an ellipsis where something was cut. Never splits a wide character. */
function cut(text: string, limit: number, width: Measure): string {
  if (width(text) <= limit) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    const next = width(character);
    if (used + next > limit - 1) break;
    kept += character;
    used += next;
  }
  return `${kept}…`;
}

const ascii = /^[\x20-\x7e]*$/;

/** How wide text is in a terminal. Loading string-width costs half as much as starting Node: most tables are ASCII. */
async function measureFor(texts: readonly string[]): Promise<Measure> {
  if (texts.every((text) => ascii.test(text))) return (text) => text.length;
  const { default: stringWidth } = await import('string-width');
  return (text) => (ascii.test(text) ? text.length : stringWidth(text));
}
