import type { LatencyPercentiles } from './figures.js';
import { groupOf, groupSize, groups, middleMs, upperBoundMs } from './latency-buckets.js';

/** Time is told in ticks of this length. */
export const tickMs = 100;

/** A window in slices: how many ticks long each is, how many there are, and where the first is among all slices. */
interface Ring {
  readonly ticks: number;
  readonly slices: number;
  readonly first: number;
}

/**
 * The slice that is under way is in the window beside the whole ones. The shortest window has none more than it is long: it
 * covers what CountWindows covers, the others a little more.
 */
const rings = {
  1: { ticks: 1, slices: 10, first: 0 },
  10: { ticks: 10, slices: 11, first: 10 },
  60: { ticks: 60, slices: 11, first: 21 },
} as const satisfies Record<number, Ring>;
const slices = 32;
const full = 2 ** 16 - 1;

/** Where a window is added up: for hundreds of instances, new ones each time would be most of the work. */
const sums = new Float64Array(groups * groupSize);
const groupTotals = new Float64Array(groups);

/** The latency of this rank among those added up, ms. */
function rank(of: number): number {
  let left = Math.max(1, Math.ceil(of));
  for (let group = 0; group < groups; group++) {
    const inGroup = groupTotals[group] ?? 0;
    if (left > inGroup) {
      left -= inGroup;
      continue;
    }
    for (let bucket = group * groupSize; bucket < (group + 1) * groupSize; bucket++) {
      left -= sums[bucket] ?? 0;
      if (left <= 0) return middleMs(bucket);
    }
  }
  return Number.NaN;
}

/** The counts of one group of buckets in all slices. */
class Page {
  readonly counts = new Uint16Array(slices * groupSize);
  /** Which time each slice holds: it is cleared when it is first written in another. */
  readonly #ages = new Int32Array(slices).fill(-1);

  add(slice: number, age: number, within: number): void {
    const start = slice * groupSize;
    if (this.#ages[slice] !== age) {
      this.#ages[slice] = age;
      for (let i = start; i < start + groupSize; i++) this.counts[i] = 0;
    }
    const count = this.counts[start + within] ?? 0;
    // One that is full stays so: it takes more than 10,000 calls a second to one instance, all equally fast.
    if (count < full) this.counts[start + within] = count + 1;
  }

  /** Adds up the slices of a ring up to that of number `now`, into `sums` from `at` on. @returns how many latencies there are. */
  sum(ring: Ring, now: number, at: number): number {
    let total = 0;
    for (let number = now - ring.slices + 1; number <= now; number++) {
      const slice = placeOf(ring, number);
      if (this.#ages[slice] !== (number | 0)) continue;
      if (total === 0) sums.fill(0, at, at + groupSize);
      const start = slice * groupSize;
      for (let within = 0; within < groupSize; within++) {
        const count = this.counts[start + within] ?? 0;
        sums[at + within] = (sums[at + within] ?? 0) + count;
        total += count;
      }
    }
    return total;
  }
}

/**
 * The latencies of the last second, ten seconds and minute in buckets; each slice of a window has counts of its own. Groups
 * of buckets are allocated with their first latency: an instance whose latencies lie within a factor of a hundred takes
 * 18 KB, one that has had all that there are 60 KB.
 */
export class LatencyWindows {
  readonly #pages: (Page | undefined)[] = new Array(groups).fill(undefined);
  #tick = Number.NEGATIVE_INFINITY;
  #age1 = 0;
  #age10 = 0;
  #age60 = 0;
  #slice1 = 0;
  #slice10 = 0;
  #slice60 = 0;

  /** One latency, by its bucket. `tick` never goes back. */
  record(bucket: number, tick: number): void {
    if (tick !== this.#tick) this.#turn(tick);
    const group = groupOf(bucket);
    const page = this.#pages[group] ?? this.#newPage(group);
    const within = bucket & (groupSize - 1);
    page.add(this.#slice1, this.#age1, within);
    page.add(this.#slice10, this.#age10, within);
    page.add(this.#slice60, this.#age60, within);
  }

  /** Null when there was none. */
  percentiles(seconds: keyof typeof rings, tick: number): LatencyPercentiles | null {
    const total = this.#sum(rings[seconds], tick);
    return total === 0 ? null : { p50: rank(total * 0.5), p90: rank(total * 0.9), p99: rank(total * 0.99) };
  }

  /** Of the last ten seconds: [upper bound of a bucket in ms, latencies in it], ascending, without empty ones. */
  distribution(tick: number): (readonly [upToMs: number, attempts: number])[] {
    const found: (readonly [number, number])[] = [];
    this.#sum(rings[10], tick);
    for (let group = 0; group < groups; group++) {
      if (groupTotals[group] === 0) continue;
      for (let bucket = group * groupSize; bucket < (group + 1) * groupSize; bucket++) {
        const count = sums[bucket] ?? 0;
        if (count > 0) found.push([upperBoundMs(bucket), count]);
      }
    }
    return found;
  }

  /** Into `sums` and `groupTotals`, where a group without latencies is left as it was. @returns how many there are. */
  #sum(ring: Ring, tick: number): number {
    const now = Math.floor(tick / ring.ticks);
    let total = 0;
    for (let group = 0; group < groups; group++) {
      const inGroup = this.#pages[group]?.sum(ring, now, group * groupSize) ?? 0;
      groupTotals[group] = inGroup;
      total += inGroup;
    }
    return total;
  }

  #newPage(group: number): Page {
    const page = new Page();
    this.#pages[group] = page;
    return page;
  }

  #turn(tick: number): void {
    this.#tick = tick;
    const [slice1, slice10, slice60] = [tick, Math.floor(tick / rings[10].ticks), Math.floor(tick / rings[60].ticks)];
    this.#slice1 = placeOf(rings[1], slice1);
    this.#slice10 = placeOf(rings[10], slice10);
    this.#slice60 = placeOf(rings[60], slice60);
    // 2^31 ticks are seven years.
    this.#age1 = slice1 | 0;
    this.#age10 = slice10 | 0;
    this.#age60 = slice60 | 0;
  }
}

/** The slice of this number since time began lies there; negative ones are before it, and hold nothing. */
function placeOf({ slices: count, first }: Ring, slice: number): number {
  return first + (((slice % count) + count) % count);
}
