/**
 * Log-linear buckets as of HdrHistogram (http://hdrhistogram.org): each doubling of the latency is a group of 32 equal
 * buckets, so the middle of a bucket is within 1/64, 1.6 %, of whatever fell into it. Latencies are cut down to units of
 * 1/1024 ms; those under 32 units share one linear group, those above half an hour the last bucket.
 */
const subBits = 5;
const unitsAMs = 1024;
const mostUnits = 2 ** 31 - 1;

export const groupSize = 2 ** subBits;
export const groups = 31 - subBits + 1;

/** Where a latency is counted. */
export function bucketOf(latencyMs: number): number {
  const scaled = latencyMs * unitsAMs;
  const units = scaled >= mostUnits ? mostUnits : scaled > 0 ? scaled | 0 : 0;
  if (units < groupSize) return units;
  const shift = 31 - Math.clz32(units) - subBits;
  // The leading bit of a group is set in all of its values: it counts the group up by one.
  return (shift << subBits) + (units >>> shift);
}

/** The group of a bucket. */
export function groupOf(bucket: number): number {
  return bucket >> subBits;
}

/** Where each bucket begins, ms, and where the last one ends: documents ask for thousands. */
const startsMs = Float64Array.from({ length: groups * groupSize + 1 }, (_, bucket) => startMs(bucket));

/** What is in the bucket is below this, ms. */
export function upperBoundMs(bucket: number): number {
  return startsMs[bucket + 1] ?? Number.NaN;
}

/** What stands for the latencies in the bucket, ms. */
export function middleMs(bucket: number): number {
  return ((startsMs[bucket] ?? Number.NaN) + upperBoundMs(bucket)) / 2;
}

/**
 * A quantile (0 to 1) of latencies as InstanceFigures tells them, ms: that which the client itself tells of its own (nearest rank,
 * the middle of the bucket). Lists of several clients may be put together in any order. Null when there is none.
 */
export function quantileOf(
  latencies: readonly (readonly [upToMs: number, attempts: number])[],
  quantile: number,
): number | null {
  const total = latencies.reduce((sum, [, attempts]) => sum + attempts, 0);
  let left = Math.max(1, Math.ceil(total * quantile));
  for (const [upToMs, attempts] of [...latencies].sort(([a], [b]) => a - b)) {
    left -= attempts;
    if (left > 0) continue;
    const next = bucketOf(upToMs);
    return middleMs(startsMs[next] === upToMs && next > 0 ? next - 1 : next);
  }
  return null;
}

function startMs(bucket: number): number {
  const group = bucket >> subBits;
  const within = bucket & (groupSize - 1);
  const units = group === 0 ? within : (groupSize + within) * 2 ** (group - 1);
  return units / unitsAMs;
}
