import { ewmaBoundMs, inFlightOf } from './load.js';
import type { Conn } from './parse.js';
import type { LogSample } from './reader.js';

/** What statistics lines tell of one instance. */
export interface LogFigures {
  /** The mean over streams. */
  readonly load: number;
  /** Null: not known. With more than one stream never known. */
  readonly inFlight: number | null;
  /** Null before a stream's second line: how long it counted is not known. Summed over streams. */
  readonly callsPerSecond: number | null;
  /** Calls behind `callsPerSecond`. */
  readonly calls: number;
  /** At none in flight: the upper bound; the mean over streams by their calls. Null before the first answer. */
  readonly ewmaBoundMs: number | null;
}

/** What is to be said about a stream. */
export interface StreamState {
  readonly stream: string;
  /** Of its newest line, by the log's own clock. */
  readonly atMs: number | null;
  /** Behind the newest line of all; its figures count no more when it is above `silentMs`. */
  readonly behindMs: number;
  /** Its lines are cut. */
  readonly isCut: boolean;
}

/**
 * go-zero writes a line with the first answer at least a minute after the line before. One that comes sooner is of
 * another picker: a new list of instances makes a new one, which writes with its first answer.
 */
const leastIntervalMs = 50_000;
/** Twice a line, and half a one for calls that are few. */
export const silentMs = 150_000;
const mostPickers = 64;

interface Counted extends Conn {
  readonly seconds: number | null;
}

interface Picker {
  readonly atMs: number | null;
  readonly conns: ReadonlyMap<string, Counted>;
  readonly isCut: boolean;
}

/** The newest statistics of each stream, as several observers of one service. */
export class LogStatistics {
  /** Calls of one service share no instance with those of another: a process has one picker for each. */
  readonly #streams = new Map<string, readonly Picker[]>();
  #newestMs: number | null = null;

  add({ stream, atMs, conns, isCut }: LogSample): void {
    const known = this.#streams.get(stream) ?? [];
    const isSame = (picker: Picker) => conns.some(({ address }) => picker.conns.has(address));
    const before = known.find(isSame);
    const seconds = (address: string): number | null => {
      if (!before?.conns.has(address) || before.atMs === null || atMs === null) return null;
      return atMs - before.atMs < leastIntervalMs ? null : (atMs - before.atMs) / 1000;
    };
    const picker: Picker = {
      atMs,
      conns: new Map(conns.map((conn) => [conn.address, { ...conn, seconds: seconds(conn.address) }])),
      isCut,
    };
    this.#streams.set(stream, [picker, ...known.filter((other) => !isSame(other))].slice(0, mostPickers));
    if (atMs !== null && (this.#newestMs === null || atMs > this.#newestMs)) this.#newestMs = atMs;
  }

  /** By the log's own clock; null before a line with a time. */
  get newestMs(): number | null {
    return this.#newestMs;
  }

  streams(): readonly StreamState[] {
    return [...this.#streams].map(([stream, pickers]) => {
      const [newest] = pickers;
      return {
        stream,
        atMs: newest?.atMs ?? null,
        behindMs: this.#behindMs(newest),
        isCut: newest?.isCut ?? false,
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
    for (const { conns } of this.#pickers(stream)) {
      if (isForeign([...conns.keys()])) continue;
      for (const conn of conns.values()) byAddress.set(conn.address, [...(byAddress.get(conn.address) ?? []), conn]);
    }
    return new Map([...byAddress].map(([address, conns]) => [address, added(conns)]));
  }

  /** The loads of one instance, one a picker. */
  loads(address: string, stream: string | null): readonly number[] {
    return this.#pickers(stream).flatMap(({ conns }) => conns.get(address)?.load ?? []);
  }

  #pickers(stream: string | null): readonly Picker[] {
    const chosen = stream === null ? [...this.#streams.values()] : [this.#streams.get(stream) ?? []];
    return chosen.flat().filter((picker) => this.#behindMs(picker) <= silentMs);
  }

  #behindMs(picker: Picker | undefined): number {
    return picker?.atMs == null || this.#newestMs === null ? 0 : this.#newestMs - picker.atMs;
  }
}

function added(conns: readonly Counted[]): LogFigures {
  const [first] = conns;
  const timed = conns.filter(({ seconds }) => seconds !== null);
  const answered = conns.flatMap(({ load, reqs }) => {
    const ms = ewmaBoundMs(load);
    return ms === null ? [] : [{ ms, weight: Math.max(1, reqs) }];
  });
  const weights = sum(answered.map(({ weight }) => weight));
  return {
    load: sum(conns.map(({ load }) => load)) / conns.length,
    inFlight: conns.length === 1 && first ? inFlightOf(first.load) : null,
    callsPerSecond: timed.length === 0 ? null : sum(timed.map(({ reqs, seconds }) => reqs / (seconds ?? 1))),
    calls: sum(timed.map(({ reqs }) => reqs)),
    ewmaBoundMs: weights === 0 ? null : sum(answered.map(({ ms, weight }) => ms * weight)) / weights,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
