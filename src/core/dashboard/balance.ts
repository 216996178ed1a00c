import { goesByWeight } from '../balancer/policies.js';
import { sum } from '../model/sum.js';
import type { LoadRange } from '../stats/gozero-log/load.js';
import type { Row } from './frame.js';

type Called = Pick<Row, 'address' | 'state' | 'health' | 'weight' | 'callsPerSecond'>;

/** The part of all calls; null where the rate is not known, or that of all, or nobody calls. */
export function shareOf(callsPerSecond: number | null, allPerSecond: number | null): number | null {
  return callsPerSecond === null || allPerSecond === null || allPerSecond === 0 ? null : callsPerSecond / allPerSecond;
}

/**
 * Those that should get calls; where no registry tells the state, all. What clients have ejected leaves its part to the
 * others, and so does what they do not reach. One that fails and yet draws more calls than any other is what one looks for.
 */
function inRotation<R extends Called>(rows: readonly R[]): R[] {
  const isUp = ({ state, health, address }: R) =>
    (state === 'up' || state === null) && health !== 'ejected' && address !== '';
  const called = rows.filter((row) => isUp(row) && row.callsPerSecond !== null);
  const sound = called.filter(({ health }) => health !== 'unhealthy');
  if (sound.length === called.length) return called;
  const most = Math.max(0, ...sound.map(({ callsPerSecond }) => callsPerSecond ?? 0));
  return called.filter(({ health, callsPerSecond }) => health !== 'unhealthy' || (callsPerSecond ?? 0) > most);
}

/**
 * p2c and most others spread calls without a look at weights: what is heavy should not get more there. Nor does anybody know
 * what it should get where only some of the clients weigh.
 */
function weightsOf(policy: string | null): (row: Called) => number {
  if (!policy?.split(', ').every(goesByWeight)) return () => 1;
  return ({ weight }) => (weight !== null && weight > 0 ? weight : 1);
}

/** How the calls are spread over the instances that should get some. */
function spreadOf<R extends Called>(rows: readonly R[], policy: string | null) {
  const weightOf = weightsOf(policy);
  const up = inRotation(rows);
  return { up, weightOf, weights: sum(up, weightOf), calls: sum(up, ({ callsPerSecond }) => callsPerSecond ?? 0) };
}

/**
 * Calls of the busiest instance over the mean of those in rotation, per weight where the policy goes by weights; null
 * without calls.
 */
export function skewOf(rows: readonly Called[], policy: string | null): number | null {
  const { up, weightOf, weights, calls } = spreadOf(rows, policy);
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
 * @param of `loadRange`: null where errors are counted, and nobody has to guess from loads.
 * @param sampleSeconds So many seconds of calls are behind each rate.
 */
export function balanceNotices(
  rows: readonly Row[],
  of: {
    readonly policy: string | null;
    readonly loadRange: ((address: string) => LoadRange | null) | null;
  },
  sampleSeconds: number,
): readonly string[] {
  const { up, weightOf, weights, calls } = spreadOf(rows, of.policy);
  if (up.length < 2 || calls === 0) return [];
  const ranges = new Map(up.map((row) => [row, of.loadRange?.(row.address) ?? null]));
  const median = peersMedian(ranges);
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
    const peers = median(row);
    const own = ranges.get(row)?.highest;
    if (own === undefined || peers === null) continue;
    if (own < peers * muchLower && share < fair * tooLittle) {
      const over = peers / own;
      const text = `${row.address} looks as if it failed fast: ${percent}, though its load is ${over.toFixed(1)} times lower than that of its peers`;
      failing.push({ over, text });
    }
  }
  return [...failing, ...greedy].sort((a, b) => b.over - a.over).map(({ text }) => text);
}

/** The median of what the loads of the others are at least; null when none is known. One sort for all rows. */
function peersMedian(ranges: ReadonlyMap<Row, LoadRange | null>): (row: Row) => number | null {
  const sorted = [...ranges].flatMap(([row, range]) => (range ? [{ row, lowest: range.lowest }] : []));
  sorted.sort((a, b) => a.lowest - b.lowest);
  const places = new Map(sorted.map(({ row }, place) => [row, place]));
  return (row) => {
    const own = places.get(row) ?? Number.POSITIVE_INFINITY;
    const at = Math.floor((sorted.length - (places.has(row) ? 2 : 1)) / 2);
    return sorted[at >= own ? at + 1 : at]?.lowest ?? null;
  };
}
