import { LbctlError } from '../model/errors.js';

const newline = 0x0a;

/**
 * The keys of a file, one a line, in batches of whatever arrived together. A line is taken literally (blanks, and an
 * empty line is the empty key) but for its end: `\n` or `\r\n`. A last line may lack it.
 * @throws USAGE with the line number when a line is not UTF-8: what would be hashed is not what the file says.
 */
export async function* keyLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let lines = 0;
  let rest: Uint8Array[] = [];
  const decode = (bytes: Uint8Array): string[] => {
    try {
      const batch = decoder.decode(bytes).split('\n');
      lines += batch.length;
      return batch;
    } catch {
      throw notUtf8(bytes, lines);
    }
  };
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(newline);
    if (end >= 0) {
      const whole = Buffer.concat([...rest, chunk.subarray(0, end)]);
      rest = [];
      yield decode(whole).map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
    }
    if (end + 1 < chunk.length) rest.push(chunk.subarray(end + 1));
  }
  if (rest.length > 0) yield decode(Buffer.concat(rest));
}

function notUtf8(bytes: Uint8Array, linesBefore: number): LbctlError {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = linesBefore + 1;
  for (let start = 0; start <= bytes.length; line++) {
    const found = bytes.indexOf(newline, start);
    const end = found < 0 ? bytes.length : found;
    try {
      decoder.decode(bytes.subarray(start, end));
    } catch {
      break;
    }
    start = end + 1;
  }
  return new LbctlError('USAGE', `Line ${line} of the keys is not UTF-8`, {
    suggestions: ['Write the keys as UTF-8 text, one a line.'],
  });
}
