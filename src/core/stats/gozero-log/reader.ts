import { LineSplitter } from '../lines.js';
import { type Conn, countRecords, hasMarker, parseStatisticsLine, parseTornLine, type TornLine } from './parse.js';

/** One statistics line of one client. */
export interface LogSample {
  /** Whose it is: the input, and where its lines name their writer, that as well. */
  readonly stream: string;
  /** Milliseconds since the epoch; null when the line does not tell it in a format that we know. */
  readonly atMs: number | null;
  readonly conns: readonly Conn[];
  /** It was cut, and tells of more instances than these. */
  readonly isCut: boolean;
}

/** Statistics lines that were there and could not be read. */
export interface LostLines extends Omit<TornLine, 'writer'> {
  readonly stream: string;
}

export type LogRecord = LogSample | LostLines;

export function isLost(record: LogRecord): record is LostLines {
  return 'lines' in record;
}

/** Tails of torn writes are waited for over so many lines. */
const longestDistrust = 16;

interface Input {
  readonly lines: LineSplitter;
  /** Beginnings without an end: their ends will follow, perhaps behind somebody else's beginning. */
  open: number;
  distrusted: number;
}

/** Makes samples of the bytes of any number of inputs, and says where one was lost. Whatever is no statistics line is passed over. */
export class GozeroLogReader {
  readonly #inputs = new Map<string, Input>();

  /** `input` names the file; `chunk` may begin and end anywhere. */
  push(input: string, chunk: Uint8Array): readonly LogRecord[] {
    const state = this.#input(input);
    return state.lines.push(chunk).flatMap((line) => this.#read(input, state, line));
  }

  /** The input has ended: its last line counts without a line end. */
  end(input: string): readonly LogRecord[] {
    const state = this.#input(input);
    this.#inputs.delete(input);
    return this.#read(input, state, state.lines.end());
  }

  #input(name: string): Input {
    const known = this.#inputs.get(name) ?? { lines: new LineSplitter(), open: 0, distrusted: 0 };
    this.#inputs.set(name, known);
    return known;
  }

  #read(name: string, input: Input, line: string): readonly LogRecord[] {
    if (line === '') return [];
    const wasOpen = input.open > 0;
    this.#count(input, line);
    if (!hasMarker(line)) return [];
    // W1's beginning and W2's end read as one good line: after a torn one they are not told apart.
    const read = wasOpen ? null : parseStatisticsLine(line);
    const found = read ?? parseTornLine(line);
    if (!found) return [];
    const { writer, ...record } = found;
    const stream = writer === '' ? name : `${name} ${writer}`;
    // Its time may be that of the other writer.
    return [{ stream, ...record, ...(wasOpen && { atMs: null }) }];
  }

  #count(input: Input, line: string): void {
    input.open = Math.max(0, input.open + countRecords(line) - 1);
    input.distrusted = input.open > 0 ? input.distrusted + 1 : 0;
    if (input.distrusted <= longestDistrust) return;
    input.open = 0;
    input.distrusted = 0;
  }
}
