import type { Readable } from 'node:stream';
import type { Clock } from '../../model/clock.js';
import { formatDuration } from '../../model/duration.js';
import { messageOf } from '../../model/errors.js';
import { type LogFigures, LogStatistics, silentMs } from '../../stats/gozero-log/figures.js';
import { type LoadRange, readingsOf } from '../../stats/gozero-log/load.js';
import { GozeroLogReader, type LogRecord } from '../../stats/gozero-log/reader.js';
import { type AddressFigures, type Feed, unknownFigures } from '../feed.js';
import type { Detail } from '../frame.js';
import { followFile } from './follow-file.js';

export interface LogInputs {
  readonly files: readonly string[];
  /** Read besides the files; null: not. */
  readonly stdin: Readable | null;
}

/** The name of stdin among the inputs. */
const stdinName = '-';
/** go-zero writes a line a minute. */
const lineSeconds = 60;

/** Figures from go-zero's own statistics lines. */
export class LogFeed implements Feed {
  readonly kind = 'log';
  readonly sampleSeconds = lineSeconds;
  readonly ended: Promise<void>;
  /** All that the files held when they were opened is read. */
  readonly caughtUp: Promise<unknown>;
  view: string | null = null;
  readonly #reader = new GozeroLogReader();
  readonly #statistics = new LogStatistics();
  readonly #clock: Clock;
  readonly #inputs: LogInputs;
  readonly #closing = new AbortController();
  readonly #troubles = new Map<string, string>();
  #isForeign: (addresses: readonly string[]) => boolean = () => false;
  #onNews: () => void = () => {};
  /** Computed once a line, not once a frame. */
  #figures: ReadonlyMap<string, AddressFigures> | null = null;
  #logFigures: ReadonlyMap<string, LogFigures> | null = null;

  constructor(inputs: LogInputs, clock: Clock) {
    this.#inputs = inputs;
    this.#clock = clock;
    const followed = inputs.files.map((path) => this.#follow(path));
    const piped = inputs.stdin ? [this.#pipe(inputs.stdin)] : [];
    this.caughtUp = Promise.all(followed.map(({ first }) => first));
    // A file may always grow; a pipe that has ended is over.
    this.ended = Promise.all([...followed.map(({ all }) => all), ...piped]).then(() => {});
  }

  /** Lines that name none of these instances are of another service that the same process calls. */
  restrict(isOurs: (address: string) => boolean): void {
    this.#isForeign = (addresses) => !addresses.some(isOurs);
    this.#forget();
  }

  policy(): string {
    return 'p2c_ewma';
  }

  observers(): number {
    return this.#statistics.streams().filter(({ behindMs }) => behindMs <= silentMs).length;
  }

  figures(): ReadonlyMap<string, AddressFigures> {
    this.#figures ??= new Map(
      [...this.#told()].map(([address, { load, inFlight, callsPerSecond, ewmaBoundMs }]) => {
        const isEwmaBound = ewmaBoundMs !== null;
        return [address, { ...unknownFigures, load, inFlight, callsPerSecond, ewmaMs: ewmaBoundMs, isEwmaBound }];
      }),
    );
    return this.#figures;
  }

  #told(): ReadonlyMap<string, LogFigures> {
    this.#logFigures ??= this.#statistics.figures(this.view, this.#isForeign);
    return this.#logFigures;
  }

  #forget(): void {
    this.#figures = null;
    this.#logFigures = null;
  }

  loadRange(address: string): LoadRange | null {
    return this.#told().get(address)?.loadRange ?? null;
  }

  unlisted(): AddressFigures {
    return unknownFigures;
  }

  notices(): readonly string[] {
    const notices = [...this.#troubles].map(([name, why]) => `${name} cannot be read: ${why}`);
    const streams = this.#statistics.streams();
    if (streams.length === 0 && this.#statistics.lost.size === 0) {
      return [...notices, 'no statistics line of go-zero yet: a client writes one a minute'];
    }
    const { newestMs } = this.#statistics;
    const oldMs = newestMs === null ? 0 : this.#clock.now() - newestMs;
    if (oldMs > silentMs) notices.push(`the newest statistics line is ${formatDuration(oldMs)} old`);
    for (const { stream, behindMs, isCut } of streams) {
      if (behindMs > silentMs) notices.push(`${stream} has been silent for ${formatDuration(behindMs)}: left out`);
      if (isCut) notices.push(`${stream} cuts lines, and instances are missing in them: raise its MaxContentLength`);
    }
    for (const [stream, lines] of this.#statistics.lost) {
      const which = lines === 1 ? '1 statistics line' : `${lines} statistics lines`;
      notices.push(`${which} of ${stream} could not be read: until the next one its rates may be unknown`);
    }
    if (this.figures().size === 0) notices.push('no statistics line names an instance of this service');
    return notices;
  }

  look(): void {}

  detail(address: string): Pick<Detail, 'trace' | 'readings'> {
    const conns = this.#statistics.loads(address, this.view);
    const [load] = conns;
    // The mean of several clients' loads is the load of none of them.
    return { trace: [], readings: conns.length === 1 && load !== undefined ? readingsOf(load) : [] };
  }

  views(): readonly string[] {
    return this.#statistics.streams().map(({ stream }) => stream);
  }

  select(view: string | null): void {
    this.view = view;
    this.#forget();
  }

  onNews(listener: () => void): void {
    this.#onNews = listener;
  }

  /** Waits for no read: one of a file system that is gone never comes back. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#inputs.stdin?.destroy();
  }

  #add(records: readonly LogRecord[]): void {
    for (const record of records) this.#statistics.add(record);
    if (records.length === 0) return;
    this.#forget();
    this.#onNews();
  }

  #follow(path: string): { readonly first: Promise<void>; readonly all: Promise<void> } {
    let caughtUp = () => {};
    const first = new Promise<void>((resolve) => (caughtUp = resolve));
    const all = followFile(
      path,
      {
        data: (chunk) => this.#add(this.#reader.push(path, chunk)),
        restarted: () => this.#add(this.#reader.end(path)),
        caughtUp,
        trouble: (reason) => {
          if (reason === null) this.#troubles.delete(path);
          else this.#troubles.set(path, reason);
        },
      },
      this.#clock,
      this.#closing.signal,
    );
    return { first, all };
  }

  #pipe(stdin: Readable): Promise<void> {
    return new Promise((resolve) => {
      stdin.on('data', (chunk: Buffer) => this.#add(this.#reader.push(stdinName, chunk)));
      stdin.on('error', (error) => this.#troubles.set(stdinName, messageOf(error)));
      stdin.once('close', () => {
        this.#add(this.#reader.end(stdinName));
        resolve();
      });
      // A file as stdin ends without closing.
      stdin.once('end', () => stdin.destroy());
    });
  }
}
