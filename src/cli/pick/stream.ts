import { once } from 'node:events';
import { sanitise } from '../../core/model/sanitise.js';
import type { Pick, Picker, PickHead, PickTotals } from '../../core/operations/pick.js';
import type { OutputFormat } from '../flags.js';
import { document, toJson } from '../output/structured.js';

/** Batches of keys; null stands for a pick without a key. */
export type KeyBatches = AsyncIterable<ReadonlyArray<string | null>>;

type Write = (text: string) => Promise<void>;

/** Waits where the reader is slower than we are: a million picks must not pile up in memory. */
export async function writeOut(text: string): Promise<void> {
  if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain');
}

/** Whether the format can be written while the keys are still being read. */
export function canStream(format: OutputFormat): format is 'json' | 'ndjson' | 'address' {
  return format === 'json' || format === 'ndjson' || format === 'address';
}

export interface Collected {
  readonly head: PickHead;
  /** All of them; none when there were more than the limit. */
  readonly picks: readonly Pick[];
  readonly totals: PickTotals;
  readonly count: number;
}

/** Picks for all keys, for a format that needs everything before its first line. */
export async function collectPicks(
  picker: Picker,
  keys: KeyBatches,
  { times, limit }: { times: number; limit: number },
): Promise<Collected> {
  const picks: Pick[] = [];
  let count = 0;
  for await (const batch of keys) {
    for (const key of batch) {
      if (count + times > limit) {
        count += picker.tally(key, times);
        continue;
      }
      const more = picker.pick(key, times);
      picks.push(...more);
      count += more.length;
    }
  }
  return { head: picker.head, picks: count > limit ? [] : picks, totals: picker.totals(), count };
}

/** Writes the picks of all keys as they come, in constant memory. */
export async function streamPicks(
  picker: Picker,
  keys: KeyBatches,
  options: { format: 'json' | 'ndjson' | 'address'; times: number; write: Write },
): Promise<void> {
  const { format, times, write } = options;
  if (format !== 'json') {
    const line = (pick: Pick) => (format === 'address' ? sanitise(pick.address) : toJson(document(pick), 0));
    for await (const batch of keys) {
      await write(batch.flatMap((key) => picker.pick(key, times).map((pick) => `${line(pick)}\n`)).join(''));
    }
    return;
  }
  // The document of the contract, its one long array written row by row: as one string a million picks do not fit.
  let text = `${toJson(document(picker.head)).slice(0, -2)},\n  "picks": [`;
  let separator = '\n    ';
  // Nothing is written before the first keys are there: a file that cannot be read leaves stdout empty.
  for await (const batch of keys) {
    for (const pick of batch.flatMap((key) => picker.pick(key, times))) {
      text += separator + toJson(pick, 0);
      separator = ',\n    ';
    }
    await write(text);
    text = '';
  }
  await write(`${text}\n  ],${toJson(picker.totals()).slice(1)}\n`);
}
