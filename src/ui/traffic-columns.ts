import type { TrafficRow } from '../core/model/traffic.js';

export interface TrafficColumn {
  readonly title: string;
  /** Of the live table, the gap included. */
  readonly width: number;
  readonly value: (row: TrafficRow) => string;
}

const unknown = '-';
const percent = (fraction: number | null) => (fraction === null ? unknown : `${(fraction * 100).toFixed(1)}%`);

/** In order of importance: a narrow terminal drops columns from the right. */
export const trafficColumns: readonly TrafficColumn[] = [
  { title: 'ADDRESS', width: 18, value: (row) => row.address },
  { title: 'STATE', width: 8, value: (row) => row.admin },
  { title: 'RPS', width: 6, value: (row) => row.callsPerSecond?.toFixed(0) ?? unknown },
  { title: 'CALLS', width: 8, value: (row) => String(row.calls) },
  { title: 'SHARE', width: 8, value: (row) => percent(row.share) },
  { title: 'ERR%', width: 8, value: (row) => percent(row.errorRate) },
  { title: 'AVG', width: 9, value: (row) => (row.averageMs === null ? unknown : `${row.averageMs.toFixed(1)}ms`) },
  { title: 'WEIGHT', width: 8, value: (row) => (row.weight === null ? unknown : String(row.weight)) },
  { title: 'INFLIGHT', width: 10, value: (row) => String(row.inFlight) },
  { title: 'ZONE', width: 6, value: (row) => row.zone || unknown },
  { title: 'NAME', width: 12, value: (row) => row.name || unknown },
];

/** Which columns fit; the first always does. */
export function fittingColumns(width: number): readonly TrafficColumn[] {
  let used = 0;
  return trafficColumns.filter((column, index) => {
    used += column.width;
    return index === 0 || used <= width;
  });
}
