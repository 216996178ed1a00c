import type { Row } from '../../core/dashboard/frame.js';
import { columns } from './columns.js';

export interface Sort {
  /** Title of a column; null: as the source orders them, by address. */
  readonly column: string | null;
  readonly isReversed: boolean;
}

/** The rows that the table shows, in its order. */
export function visibleRows(rows: readonly Row[], filter: string, sort: Sort): readonly Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = words.length === 0 ? rows : rows.filter((row) => words.every((word) => searchable(row).includes(word)));
  const sortBy = columns.find((column) => column.title === sort.column)?.sortBy;
  if (sortBy === undefined) return sort.isReversed ? [...kept].reverse() : kept;
  const direction = sort.isReversed ? -1 : 1;
  return kept
    .map((row) => ({ row, key: sortBy(row) }))
    .sort((a, b) => {
      // What is unknown stays below whichever way the rest is turned.
      if (a.key === null || b.key === null) return a.key === b.key ? 0 : a.key === null ? 1 : -1;
      return direction * compare(a.key, b.key);
    })
    .map(({ row }) => row);
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return b - a;
  return a < b ? -1 : a > b ? 1 : 0;
}

function searchable(row: Row): string {
  return [row.address, row.name, row.zone, row.state ?? '', row.health ?? ''].join(' ').toLowerCase();
}

/** Where the cursor goes: it stays on its row, or takes the place of one that left: the next below, else above. */
export function keepCursor(cursor: string | null, before: readonly Row[], now: readonly Row[]): string | null {
  if (cursor === null) return now[0]?.id ?? null;
  const present = new Set(now.map((row) => row.id));
  if (present.has(cursor)) return cursor;
  const at = before.findIndex((row) => row.id === cursor);
  const below = before.slice(at + 1).find((row) => present.has(row.id));
  const above = before.slice(0, Math.max(0, at)).findLast((row) => present.has(row.id));
  return (below ?? above ?? now[0])?.id ?? null;
}
