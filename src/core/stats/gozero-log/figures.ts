import { sum } from '../../model/sum.js';
import { ewmaBoundMs, inFlightOf, type LoadRange, linesOfRange, loadRange } from './load.js';
import type { Conn } from './parse.js';
import { isLost, type LogRecord, type LogSample, type LostLines } from './reader.js';

/** What statistics lines tell of one instance. */
export interface LogFigures {
  /** The mean over streams. Null when no line holds it: it was in those before, and the newest were cut. */
  readonly load: number | null;
  /** Null: not known. With more than one stream never known. */
  readonly inFlight: number | null;
  /**
   * Summed over streams. A stream counts from its second line on: how long the first one counted is not known. Null when
   * there is none, where a line was cut, and after one that was lost: go-zero counts from its own last line, not from the last that was read.
   */
  readonly callsPerSecond: number | null;
  /** Calls behind `callsPerSecond`. */
  readonly calls: number;
  /** At none in flight: the upper bound; the mean over streams by their calls. Null before the first answer. */
  readonly ewmaBoundMs: number | null;
  /** By the last lines; the mean over streams. Null when they do not tell. */
  readonly loadRange: LoadRange | null;
}

/** What is to be said about a stream. */
export interface StreamState {
  readonly stream: string;
  /** Of its newest line, by the log's own clock. */
  readonly atMs: number | null;
  /** Behind the newest line of all; its figures count no more when it is above `silentMs`. */
  readonly behindMs: number;
  /** Its last lines are cut, or some of them. */
  readonly isCut: boolean;
}

/**
 * go-zero writes a line with the first answer at least a minute after the line before. One that comes sooner is of
 * another picker: a new list of instances makes a new one, which writes with its first answer.
 */
const leastIntervalMs = 50_000;
const lineMs = 60_000;
/** Twice a line, and half a one for calls that are few. */
export const silentMs = 150_000;
const mostPickers = 64;
/** Above it a line between two may have been lost. */
const longIntervalMs = 90_000;
/** A line comes with the first answer after a minute: to be without one for so many expected calls is no chance. */
const callsNotMissed = 5;

interface Counted extends Conn {
  /** In the last lines, newest last. */
  readonly loads: readonly number[];
  /** Null: not known. */
  readonly seconds: number | null;
  /** `seconds` would be known if no line had been lost. */
  readonly isLost: boolean;
}

interface Picker {
  readonly atMs: number | null;
  /** When it began to count anew: with its last line, be it lost. */
  readonly countsFromMs: number | null;
  readonly conns: ReadonlyMap<string, Counted>;
  /** The line was cut, and these were in those before it. */
  readonly missing: ReadonlySet<string>;
  readonly isCut: boolean;
  /** Its line before was. */
  readonly wasCut: boolean;
}

/** The newest statistics of each stream, as several observers of one service. */
export class LogStatistics {
  /** Calls of one service share no instance with those of another: a process has one picker for each. */
  readonly #streams = new Map<string, readonly Picker[]>();
  /** By stream. */
  readonly #lost = new Map<string, number>();
  #newestMs: number | null = null;

  add(record: LogRecord): void {
    if (isLost(record)) this.#lose(record);
    else this.#read(record);
  }

  #lose({ stream, lines, atMs, addresses }: LostLines): void {
    this.#lost.set(stream, (this.#lost.get(stream) ?? 0) + lines);
    const pickers = this.#streams.get(stream);
    if (!pickers) return;
    const named = pickers.filter(({ conns }) => addresses.some((address) => conns.has(address)));
    const its = named.length > 0 ? named : pickers;
    // Whose line it was has to be certain before its time says when a picker began to count.
    const isCertain = its.length === 1 && (named.length === 1 || addresses.length === 0);
    const torn = (picker: Picker): Picker => ({ ...picker, countsFromMs: isCertain ? atMs : null });
    this.#streams.set(
      stream,
      pickers.map((picker) => (its.includes(picker) ? torn(picker) : picker)),
    );
  }

  #read({ stream, atMs, conns, isCut }: LogSample): void {
    const known = this.#streams.get(stream) ?? [];
    const isSame = (picker: Picker) => conns.some(({ address }) => isIn(picker, address));
    const before = known.find(isSame);
    const there = new Set(conns.map(({ address }) => address));
    const gone = isCut && before ? [...before.conns.keys(), ...before.missing].filter((one) => !there.has(one)) : [];
    const interval = intervalOf(
      before,
      atMs,
      sum(conns, ({ reqs }) => reqs),
    );
    const picker: Picker = {
      atMs,
      countsFromMs: atMs,
      conns: new Map(
        conns.map((conn) => {
          const last = before?.conns.get(conn.address);
          const loads = [...(last?.loads ?? []), conn.load].slice(-linesOfRange);
          const isNew = before !== undefined && !isIn(before, conn.address);
          // Behind the cut of the line before there may have been any.
          return [conn.address, { ...conn, loads, ...(isNew ? { seconds: null, isLost: before.isCut } : interval) }];
        }),
      ),
      missing: new Set(gone),
      isCut,
      wasCut: before?.isCut ?? false,
    };
    this.#streams.set(stream, [picker, ...known.filter((other) => !isSame(other))].slice(0, mostPickers));
    if (atMs !== null && (this.#newestMs === null || atMs > this.#newestMs)) this.#newestMs = atMs;
  }

  /** By the log's own clock; null before a line with a time. */
  get newestMs(): number | null {
    return this.#newestMs;
  }

  /** So many lines could not be read, by stream. */
  get lost(): ReadonlyMap<string, number> {
    return this.#lost;
  }

  streams(): readonly StreamState[] {
    return [...this.#streams].map(([stream, pickers]) => {
      const [newest] = pickers;
      return {
        stream,
        atMs: newest?.atMs ?? null,
        behindMs: this.#behindMs(newest),
        isCut: pickers.some((picker) => this.#isHeard(picker) && (picker.isCut || picker.wasCut)),
      };
    });
  }

  /**
   * By address; of one stream, or of all that are not silent added up.
   * @param isForeign Whether a line with these addresses is of another service.
   */
  figures(
    stream: string | null,
    isForeign: (addresses: readonly string[]) => boolean = () => false,
  ): ReadonlyMap<string, LogFigures> {
    const byAddress = new Map<string, Counted[]>();
    const missed = new Set<string>();
    for (const { conns, missing } of this.#pickers(stream)) {
      if (isForeign([...conns.keys(), ...missing])) continue;
      for (const address of missing) {
        missed.add(address);
        byAddress.set(address, byAddress.get(address) ?? []);
      }
      for (const conn of conns.values()) byAddress.set(conn.address, [...(byAddress.get(conn.address) ?? []), conn]);
    }
    return new Map([...byAddress].map(([address, conns]) => [address, added(conns, missed.has(address))]));
  }

  /** The loads of one instance, one a picker. */
  loads(address: string, stream: string | null): readonly number[] {
    return this.#pickers(stream).flatMap(({ conns }) => conns.get(address)?.load ?? []);
  }

  #pickers(stream: string | null): readonly Picker[] {
    const chosen = stream === null ? [...this.#streams.values()] : [this.#streams.get(stream) ?? []];
    return chosen.flat().filter((picker) => this.#isHeard(picker));
  }

  #isHeard(picker: Picker): boolean {
    return this.#behindMs(picker) <= silentMs;
  }

  #behindMs(picker: Picker | undefined): number {
    return picker?.atMs == null || this.#newestMs === null ? 0 : this.#newestMs - picker.atMs;
  }
}

function isIn({ conns, missing }: Picker, address: string): boolean {
  return conns.has(address) || missing.has(address);
}

type Interval = Pick<Counted, 'seconds' | 'isLost'>;
const unknown: Interval = { seconds: null, isLost: false };

function intervalOf(before: Picker | undefined, atMs: number | null, reqs: number): Interval {
  if (!before || before.atMs === null || atMs === null || atMs - before.atMs < leastIntervalMs) return unknown;
  if (before.countsFromMs === null) return { seconds: null, isLost: true };
  const ms = atMs - before.countsFromMs;
  if (ms < leastIntervalMs) return unknown;
  const missed = (reqs / ms) * (ms - lineMs);
  if (ms > longIntervalMs && missed > callsNotMissed) return { seconds: null, isLost: true };
  return { seconds: ms / 1000, isLost: false };
}

function added(conns: readonly Counted[], isMissed: boolean): LogFigures {
  const [first] = conns;
  const isPartial = isMissed || conns.some((conn) => conn.isLost);
  const timed = conns.filter(({ seconds }) => seconds !== null);
  const answered = conns.flatMap(({ load, reqs }) => {
    const ms = ewmaBoundMs(load);
    return ms === null ? [] : [{ ms, weight: Math.max(1, reqs) }];
  });
  const weights = sum(answered, ({ weight }) => weight);
  return {
    load: conns.length === 0 ? null : sum(conns, ({ load }) => load) / conns.length,
    inFlight: !isMissed && conns.length === 1 && first ? inFlightOf(first.load) : null,
    callsPerSecond: timed.length === 0 || isPartial ? null : sum(timed, ({ reqs, seconds }) => reqs / (seconds ?? 1)),
    calls: sum(timed, ({ reqs }) => reqs),
    loadRange: meanRange(conns),
    ewmaBoundMs: weights === 0 ? null : sum(answered, ({ ms, weight }) => ms * weight) / weights,
  };
}

function meanRange(conns: readonly Counted[]): LoadRange | null {
  const ranges = conns.flatMap(({ loads }) => loadRange(loads) ?? []);
  if (ranges.length === 0) return null;
  const mean = (of: keyof LoadRange) => sum(ranges, (range) => range[of]) / ranges.length;
  return { lowest: mean('lowest'), highest: mean('highest') };
}
