import type { NumberedEntry } from '../../core/operations/log.js';
import type { Outcome } from '../base-command.js';
import { type Column, table } from '../output/table.js';
import { relativeTime } from '../output/time.js';

/** The log as a table, oldest first. */
export function logOutcome(service: string, revision: bigint, entries: readonly NumberedEntry[]): Outcome {
  return {
    document: { service, revision, entries },
    rows: entries,
    text: (view) => (entries.length === 0 ? '' : table(columns(view.nowMs), entries, view)),
  };
}

function columns(nowMs: number): ReadonlyArray<Column<NumberedEntry>> {
  return [
    { title: 'WHEN', value: (row) => relativeTime(row.at, nowMs) },
    { title: 'BY', value: (row) => row.by, dropOrder: 2 },
    { title: 'VERB', value: (row) => row.verb },
    { title: 'WHAT', value: (row) => row.what },
    { title: 'STRATEGY', value: (row) => row.strategy, dropOrder: 1 },
    { title: 'INSTANCES', value: (row) => row.addresses.join(' ') },
    { title: 'WHY', value: (row) => row.reason, dropOrder: 3 },
  ];
}
