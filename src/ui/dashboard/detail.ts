import type { Detail, HistoryEvent, Row } from '../../core/dashboard/frame.js';
import type { Compared, PickTrace } from '../../core/stats/figures.js';
import { columns, compact, known, milliseconds, percent } from './columns.js';
import { sparkline } from './sparkline.js';
import { shortTime } from './text.js';
import { trendLength } from './trends.js';

/** A line of the detail view. Not sanitised. */
export interface DetailLine {
  readonly text: string;
  readonly isTitle?: boolean;
}

const labelWidth = 12;
const title = (text: string): DetailLine => ({ text, isTitle: true });
const field = (label: string, value: string): DetailLine => ({ text: `${label.padEnd(labelWidth)}${value}` });

/** All that is known of one instance; `detail` is null until the source has looked. */
export function detailLines(row: Row, detail: Detail | null, trend: readonly (number | null)[]): readonly DetailLine[] {
  const cell = (name: string) => columns.find((column) => column.title === name)?.value(row, trend) ?? '';
  return [
    title(row.name === '' || row.name === row.address ? row.address : `${row.address}  ${row.name}`),
    field('state', `${cell('STATE')}, ${row.health ?? 'health unknown'}`),
    ...pauseLines(row),
    field('weight', `${cell('WEIGHT')}   zone ${row.zone || '-'}   lease ${cell('TTL')}`),
    field('calls', `${cell('RPS')}/s, ${cell('SHARE')} of all, ${cell('ERR%')} errors, ${cell('INFLIGHT')} in flight`),
    field('latency', `EWMA ${cell('EWMA')}, p99 ${cell('P99')}`),
    field('load', cell('LOAD')),
    ...readingLines(detail),
    field('trend', sparkline(trend, trendLength).trim() || '-'),
    field('ring share', known(detail?.ringShare ?? null, percent)),
    field('codes', codes(row)),
    ...(detail === null || detail.history.length === 0 ? [] : [title('History'), ...detail.history.map(event)]),
    ...(detail === null || detail.trace.length === 0 ? [] : [title('Last picks'), ...detail.trace.map(pick)]),
  ];
}

function pauseLines({ pause }: Row): DetailLine[] {
  if (pause === null) return [];
  const reason = pause.reason === '' ? '' : `: ${pause.reason}`;
  return [field('paused', `by ${pause.by || 'somebody'} at ${shortTime(pause.at)}${reason}`)];
}

/** A load alone leaves open what is latency and what is calls in flight. */
function readingLines(detail: Detail | null): DetailLine[] {
  if (detail === null || detail.readings.length === 0) return [];
  const readings = detail.readings.map((one) => `${milliseconds(one.ewmaMs)} with ${one.inFlight} in flight`);
  return [field('', `which is ${readings.join(', or ')}`)];
}

function codes(row: Row): string {
  const counted = Object.entries(row.codes).sort(([, a], [, b]) => b - a);
  return counted.map(([code, count]) => `${code} ${compact(count)}`).join('  ') || '-';
}

function event({ at, text }: HistoryEvent): DetailLine {
  return { text: `  ${at === null ? '-'.padEnd(20) : shortTime(at)}  ${text}` };
}

function pick({ at, compared, chosen, isForced }: PickTrace): DetailLine {
  const others = compared.filter((one) => one.address !== chosen);
  const winner = compared.find((one) => one.address === chosen);
  const over = others.length === 0 ? '' : ` over ${others.map(side).join(', ')}`;
  const forced = isForced ? ', because it had not been picked for long' : '';
  return { text: `  ${shortTime(at)}  ${winner ? side(winner) : chosen}${over}${forced}` };
}

function side({ address, load, inFlight }: Compared): string {
  return `${address} (load ${compact(load)}, ${inFlight} in flight)`;
}
