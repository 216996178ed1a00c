import type { Row } from '../../core/dashboard/frame.js';

const number = (value: number | null, digits = 0) => (value === null ? '-' : value.toFixed(digits));
const percent = (value: number | null) => (value === null ? '-' : `${(value * 100).toFixed(1)}%`);
const ms = (value: number | null) => (value === null ? '-' : `${value.toFixed(value < 10 ? 2 : 1)}ms`);

/** The cells of a row, most important column first. */
export const columns: readonly { readonly title: string; value(row: Row): string }[] = [
  { title: 'ADDRESS', value: (row) => row.address },
  { title: 'STATE', value: (row) => row.state ?? '-' },
  { title: 'HEALTH', value: (row) => row.health ?? '-' },
  { title: 'WEIGHT', value: (row) => number(row.weight) },
  { title: 'LOAD', value: (row) => number(row.load) },
  { title: 'INFLIGHT', value: (row) => number(row.inFlight) },
  { title: 'RPS', value: (row) => number(row.callsPerSecond, 1) },
  { title: 'SHARE', value: (row) => percent(row.share) },
  { title: 'ERR%', value: (row) => percent(row.errorRate) },
  { title: 'EWMA', value: (row) => (row.isEwmaBound ? `≤${ms(row.ewmaMs)}` : ms(row.ewmaMs)) },
  { title: 'P99', value: (row) => ms(row.p99Ms) },
  { title: 'TTL', value: (row) => (row.lease ? `${row.lease.remainingSeconds}s/${row.lease.ttlSeconds}s` : '-') },
];
