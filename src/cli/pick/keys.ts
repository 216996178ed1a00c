import { createReadStream } from 'node:fs';
import { LbctlError, messageOf } from '../../core/model/errors.js';
import { keyLines } from '../../core/operations/key-lines.js';
import type { KeyBatches } from './stream.js';

/** The keys of the flags and then those of the file (`-`: stdin), in batches. */
export async function* keysOf(keys: readonly string[], file: string | undefined): KeyBatches {
  if (keys.length > 0) yield keys;
  if (file !== undefined) yield* keyLines(file === '-' ? process.stdin : bytesOf(file));
}

async function* bytesOf(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw new LbctlError('USAGE', `Cannot read the keys file ${path}: ${messageOf(error)}`, {
      cause: error,
      suggestions: ['One key a line; --keys-file - reads them from stdin.'],
    });
  }
}

/** As many picks without a key, in batches. */
export async function* withoutKeys(picks: number): KeyBatches {
  for (let left = picks; left > 0; left -= 1000) yield Array<null>(Math.min(left, 1000)).fill(null);
}
