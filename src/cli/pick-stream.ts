import { once } from 'node:events';
import type { Pick, Picker } from '../core/operations/pick.js';
import type { OutputFormat } from './flags.js';
import { sanitise } from './output/sanitise.js';
import { document, toJson } from './output/structured.js';

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
