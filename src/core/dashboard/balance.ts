import { goesByWeight } from '../balancer/policies.js';
import type { Row, SourceKind } from './frame.js';

type Called = Pick<Row, 'state' | 'health' | 'weight' | 'callsPerSecond'>;

/** The part of all calls; null where the rate is not known, or nobody calls. */
export function shareOf(callsPerSecond: number | null, allPerSecond: number): number | null {
  return callsPerSecond === null || allPerSecond === 0 ? null : callsPerSecond / allPerSecond;
}

/** Those that should get calls; where no registry tells the state, all. What clients have ejected leaves its part to the others. */
function inRotation<R extends Called>(rows: readonly R[]): R[] {
  const isUp = ({ state, health }: R) => (state === 'up' || state === null) && health !== 'ejected';
  return rows.filter((row) => isUp(row) && row.callsPerSecond !== null);
}

/**
 * p2c and most others spread calls without a look at weights: what is heavy should not get more there. Nor does anybody know
 * what it should get where only some of the clients weigh.
 */
function weightsOf(policy: string | null): (row: Called) => number {
  if (!policy?.split(', ').every(goesByWeight)) return () => 1;
  return ({ weight }) => (weight !== null && weight > 0 ? weight : 1);
}

/**
 * Calls of the busiest instance over the mean of those in rotation, per weight where the policy goes by weights; null
 * without calls.
 */
export function skewOf(rows: readonly Called[], policy: string | null): number | null {
  const weightOf = weightsOf(policy);
  const up = inRotation(rows);
  const weights = up.reduce((sum, row) => sum + weightOf(row), 0);
  const calls = up.reduce((sum, { callsPerSecond }) => sum + (callsPerSecond ?? 0), 0);
  if (calls === 0) return null;
  const busiest = Math.max(...up.map((row) => (row.callsPerSecond ?? 0) / weightOf(row)));
  return busiest / (calls / weights);
}

/** Above so many times its share, and so far from what chance makes of it (standard deviations). */
const tooMuch = 1.5;
const deviations = 4;
/** Much faster than the others, and yet with less than its share. */
const muchLower = 0.6;
const tooLittle = 0.75;

/**
 * What the spread of the calls says of instances, worst first.
 * @param sampleSeconds So many seconds of calls are behind each rate.
 */
export function balanceNotices(
  rows: readonly Row[],
  { source, policy }: { readonly source: SourceKind; readonly policy: string | null },
  sampleSeconds: number,
): readonly string[] {
  const weightOf = weightsOf(policy);
  const up = inRotation(rows);
  if (up.length < 2) return [];
  const weights = up.reduce((sum, row) => sum + weightOf(row), 0);
  const calls = up.reduce((sum, { callsPerSecond }) => sum + (callsPerSecond ?? 0), 0);
  if (calls === 0) return [];
  const median = peersMedian(up);
  const greedy: { over: number; text: string }[] = [];
  const failing: { over: number; text: string }[] = [];
  for (const row of up) {
    const fair = weightOf(row) / weights;
    const rate = row.callsPerSecond ?? 0;
    const share = rate / calls;
    const expected = calls * fair * sampleSeconds;
    const isChance = Math.abs(rate * sampleSeconds - expected) < deviations * Math.sqrt(expected);
    if (isChance) continue;
    const percent = `${(share * 100).toFixed(0)} % of the calls`;
    if (share > fair * tooMuch) {
      const over = share / fair;
      greedy.push({ over, text: `${row.address} takes ${percent}, ${over.toFixed(1)} times its share` });
    }
    // Only a log says nothing of errors; elsewhere they are counted.
    const peers = median(row);
    if (source !== 'log' || peers === null || row.load === null || row.ewmaMs === null) continue;
    if (row.load < peers * muchLower && share < fair * tooLittle) {
      const over = peers / row.load;
      const text = `${row.address} looks as if it failed fast: ${percent}, though its load is ${over.toFixed(1)} times lower than that of its peers`;
      failing.push({ over, text });
    }
  }
  return [...failing, ...greedy].sort((a, b) => b.over - a.over).map(({ text }) => text);
}

/** The median load of the others, of those that have answered; null when there is none. One sort for all rows. */
function peersMedian(rows: readonly Row[]): (row: Row) => number | null {
  const sorted = rows.filter(({ load, ewmaMs }) => load !== null && ewmaMs !== null);
  sorted.sort((a, b) => (a.load ?? 0) - (b.load ?? 0));
  const places = new Map(sorted.map((row, place) => [row, place]));
  return (row) => {
    const own = places.get(row) ?? Number.POSITIVE_INFINITY;
    const at = Math.floor((sorted.length - (places.has(row) ? 2 : 1)) / 2);
    return sorted[at >= own ? at + 1 : at]?.load ?? null;
  };
}
