/** What tests of the etcd client share: connections that are closed after each test, and a watch that remembers. */
import { afterEach } from 'vitest';
import { connect } from '../../src/core/etcd/connection.js';
import type { Etcd, EtcdSettings, KeyRange, Watch, WatchEvent } from '../../src/core/etcd/port.js';
import type { Rng } from '../../src/core/model/clock.js';

const opened: Etcd[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((etcd) => etcd.close()));
});

/** A connection of its own (not shared with another test), closed after the test. */
export async function open(
  endpoints: string | readonly string[],
  settings: Partial<EtcdSettings> = {},
  rng: Rng = Math.random,
): Promise<Etcd> {
  const etcd = await connect({ endpoints: [endpoints].flat(), ...settings }, { rng });
  opened.push(etcd);
  return etcd;
}

export interface RecordedWatch {
  readonly watch: Watch;
  /** `put k=v@rev` or `delete k@rev`, of all ranges as delivered. */
  readonly events: string[];
  readonly raw: { readonly rangeIndex: number; readonly revision: bigint; readonly events: readonly WatchEvent[] }[];
  /** `live`, `stale`, `lost:<why>`, `denied:<range>` in order. */
  readonly states: string[];
  readonly reasons: string[];
  readonly errors: Error[];
}

export function record(etcd: Etcd, ranges: readonly KeyRange[], afterRevision: bigint): RecordedWatch {
  const out = {
    events: [] as string[],
    raw: [] as RecordedWatch['raw'],
    states: [] as string[],
    reasons: [] as string[],
  };
  const errors: Error[] = [];
  const watch = etcd.watch(
    { ranges, afterRevision },
    {
      events(events, revision, rangeIndex) {
        out.raw.push({ events, revision, rangeIndex });
        for (const { type, kv } of events) {
          const value = type === 'put' ? `=${kv.value.subarray(0, 20).toString()}` : '';
          out.events.push(`${type} ${kv.key}${value}@${kv.modRevision}`);
        }
      },
      live: () => out.states.push('live'),
      stale(reason) {
        out.states.push('stale');
        out.reasons.push(reason);
      },
      lost(why, detail) {
        out.states.push(`lost:${why}`);
        out.reasons.push(detail);
      },
      denied(rangeIndex, error) {
        out.states.push(`denied:${rangeIndex}`);
        errors.push(error);
      },
    },
  );
  return { watch, errors, ...out };
}
