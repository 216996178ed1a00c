import type { CallOptions, Etcd, KeyRange, KeyValue } from '../etcd/port.js';
import { isLbctlError, type LbctlError } from '../model/errors.js';

/** What one range held at `revision`; `denied` when this user may not read it (then `kvs` is empty). */
export interface LoadedRange {
  readonly kvs: readonly KeyValue[];
  readonly revision: bigint;
  readonly denied: LbctlError | null;
}

export interface Loaded {
  readonly ranges: readonly LoadedRange[];
  /** The lowest revision of all ranges: a watch of them all continues from here. */
  readonly revision: bigint;
}

/** Reads taken while somebody writes differ in revision; after this many, the watch sorts out what is left. */
const sameRevisionAttempts = 3;

/**
 * Reads several ranges side by side, at one revision if etcd is quiet enough for that. Ranges that the user may not
 * read come back as denied.
 * @throws the permission error when every range in `needed` is denied; any other failure as it is.
 */
export async function loadRanges(
  etcd: Etcd,
  ranges: readonly KeyRange[],
  needed: readonly number[],
  options: CallOptions = {},
): Promise<Loaded> {
  const load = async () => {
    const answers = await Promise.allSettled(ranges.map((range) => loadRange(etcd, range, options)));
    // When all fail, the error is about the first range: the name that was asked for, not a layout's prefix of it.
    return answers.map((answer) => {
      if (answer.status === 'rejected') throw answer.reason;
      return answer.value;
    });
  };
  let loaded = await load();
  for (let attempt = 1; attempt < sameRevisionAttempts; attempt++) {
    const newest = latest(loaded);
    if (loaded.every((range) => range.denied !== null || range.revision === newest)) break;
    loaded = await load();
  }
  const refusal = needed.map((index) => loaded[index]?.denied ?? null);
  const first = refusal[0];
  if (first && refusal.every((error) => error !== null)) throw first;
  let revision = latest(loaded);
  for (const range of loaded) if (range.denied === null && range.revision < revision) revision = range.revision;
  return { ranges: loaded, revision };
}

function latest(loaded: readonly LoadedRange[]): bigint {
  let high = 0n;
  for (const range of loaded) if (range.revision > high) high = range.revision;
  return high;
}

async function loadRange(etcd: Etcd, range: KeyRange, options: CallOptions): Promise<LoadedRange> {
  try {
    const listing = await etcd.list(range, options);
    return { kvs: listing.kvs, revision: listing.header.revision, denied: null };
  } catch (error) {
    if (isLbctlError(error, 'ETCD_PERMISSION_DENIED')) return { kvs: [], revision: 0n, denied: error };
    throw error;
  }
}
