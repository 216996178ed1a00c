import type { Row } from '../../core/dashboard/frame.js';
import { sparkline } from './sparkline.js';
import { trendLength } from './trends.js';

export interface Column {
  readonly title: string;
  /** In cells. Of ADDRESS: the least that is worth showing. */
  readonly width: number;
  readonly align: 'left' | 'right';
  /** `-` when it is unknown, never 0. Not sanitised. `trend`: the last calls per second, oldest first. */
  value(row: Row, trend?: readonly (number | null)[]): string;
  /** What sorts it; null comes last. Numbers: the greatest first. Absent: it cannot be sorted by. */
  readonly sortBy?: (row: Row) => number | string | null;
  /** The key that sorts by it. */
  readonly key?: string;
}

const unknown = '-';

/** In order of importance: a narrow terminal drops columns from the right. */
export const columns: readonly Column[] = [
  text('ADDRESS', 15, 'a', (row) => row.address || `(unparsed) ${row.name}`),
  // What has no address is dialled by nobody, whatever else is true of it.
  text('STATE', 6, 't', (row) => (row.address === '' ? null : row.state)),
  text('HEALTH', 9, 'h', (row) => row.health),
  figure('WEIGHT', 6, 'w', (row) => row.weight, compact),
  figure('LOAD', 7, 'l', (row) => row.load, compact),
  figure('INFLIGHT', 8, 'i', (row) => row.inFlight, compact),
  figure('RPS', 6, 'r', (row) => row.callsPerSecond, compact),
  figure('SHARE', 6, 'c', (row) => row.share, percent),
  figure('ERR%', 6, 'e', (row) => row.errorRate, percent),
  {
    ...figure('EWMA', 8, 'm', (row) => row.ewmaMs, milliseconds),
    value: ({ ewmaMs, isEwmaBound }) => `${ewmaMs !== null && isEwmaBound ? '≤' : ''}${known(ewmaMs, milliseconds)}`,
  },
  figure('P99', 7, 'n', (row) => row.p99Ms, milliseconds),
  {
    title: 'TREND',
    width: trendLength,
    align: 'right',
    value: (_row, trend = []) => (trend.some((value) => value !== null) ? sparkline(trend, trendLength) : unknown),
  },
  {
    ...figure('TTL', 9, 'x', (row) => row.lease?.remainingSeconds ?? null, compact),
    value: ({ lease }) => (lease === null ? unknown : leaseText(lease)),
  },
];

/** `7/10s`; of a long lease `59m/1h`. */
function leaseText({ remainingSeconds, ttlSeconds }: NonNullable<Row['lease']>): string {
  const left = Math.ceil(remainingSeconds);
  if (ttlSeconds < 1000) return `${left}/${ttlSeconds}s`;
  return `${rounded(left)}/${rounded(ttlSeconds)}`;
}

function rounded(seconds: number): string {
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.round(seconds / 3600)}h` : `${Math.round(seconds / 86_400)}d`;
}

function text(title: string, width: number, key: string, of: (row: Row) => string | null): Column {
  return { title, width, key, align: 'left', value: (row) => of(row) || unknown, sortBy: of };
}

function figure(
  title: string,
  width: number,
  key: string,
  of: (row: Row) => number | null,
  format: (value: number) => string,
): Column {
  return { title, width, key, align: 'right', value: (row) => known(of(row), format), sortBy: of };
}

export function known(value: number | null, format: (value: number) => string): string {
  return value === null ? unknown : format(value);
}

/** In at most six characters up to a trillion; what is not 0 never looks like 0. */
export function compact(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 100_000) return String(value);
  const size = Math.abs(value);
  if (size < 0.01) return value < 0 ? '>-0.01' : '<0.01';
  if (size < 1) return value.toFixed(2);
  if (size < 99.95) return value.toFixed(1);
  if (size < 99_999.5) return value.toFixed(0);
  for (const [unit, suffix] of [
    [1e3, 'k'],
    [1e6, 'M'],
    [1e9, 'G'],
  ] as const) {
    if (size < unit * 999.5) return `${(value / unit).toFixed(size < unit * 99.95 ? 1 : 0)}${suffix}`;
  }
  return `${(value / 1e12).toPrecision(3)}T`;
}

export function percent(fraction: number): string {
  if (fraction > 0 && fraction < 0.0005) return '<0.1%';
  return `${(fraction * 100).toFixed(fraction >= 0.9995 ? 0 : 1)}%`;
}

export function milliseconds(value: number): string {
  if (value > 0 && value < 0.05) return '<0.1ms';
  if (value < 99.95) return `${value.toFixed(1)}ms`;
  if (value < 999.5) return `${value.toFixed(0)}ms`;
  const seconds = value / 1000;
  return `${seconds < 99.95 ? seconds.toFixed(1) : seconds.toFixed(0)}s`;
}
