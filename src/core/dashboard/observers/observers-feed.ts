import { isLoopback, splitHostPort } from '../../dialects/address.js';
import type { Etcd } from '../../etcd/port.js';
import { thisProcess } from '../../host/this-process.js';
import { type Clock, sleep } from '../../model/clock.js';
import { formatDuration } from '../../model/duration.js';
import { messageOf } from '../../model/errors.js';
import type { ClientFigures, PickTrace } from '../../stats/figures.js';
import { type ObserverView, readObservers } from '../../stats/observers.js';
import { aggregate } from '../aggregate.js';
import { type AddressFigures, type Feed, idleFigures, unknownFigures } from '../feed.js';
import { StatisticsReader } from './statistics-reader.js';

export interface ObserversOptions {
  readonly etcd: Etcd;
  readonly service: string;
  /** The client to look through, by id or name; null: all. */
  readonly view: string | null;
  /** From line to line of a client's statistics. */
  readonly intervalMs: number;
  readonly clock: Clock;
}

const readAgainMs = 2000;
/** Clients that start with the dashboard write their records a moment later: twice as long from one look to the next. */
const firstReadAgainMs = 200;
const readMs = 2000;
/** Rates are of the last ten seconds. */
const rateSeconds = 10;
const mostNamed = 5;
const mostTrace = 50;

interface Process {
  readonly stream: StatisticsReader;
  clients: readonly ClientFigures[];
}

/** Figures of the clients that publish theirs. */
export class ObserversFeed implements Feed {
  readonly kind = 'observers';
  readonly sampleSeconds = rateSeconds;
  view: string | null;
  readonly #options: ObserversOptions;
  readonly #closing = new AbortController();
  readonly #processes = new Map<string, Process>();
  readonly #running: Promise<void>;
  #records: readonly ObserverView[] = [];
  /** By id: when the record was first read. */
  #seenAtMs: ReadonlyMap<string, number> = new Map();
  /** Ids of records whose process answers without that client. */
  #absent: ReadonlySet<string> = new Set();
  #hasRead = false;
  #trouble = '';
  #looked: string | null = null;
  #known: { readonly key: string; readonly figures: ReadonlyMap<string, AddressFigures> } | null = null;
  #lines = 0;

  constructor(options: ObserversOptions) {
    this.#options = options;
    this.view = options.view;
    this.#running = this.#follow();
  }

  policy(): string | null {
    const policies = new Set(this.#chosen().map(({ policy }) => policy));
    return policies.size === 0 ? null : [...policies].sort().join(', ');
  }

  observers(): number {
    return this.#chosen().length;
  }

  figures(): ReadonlyMap<string, AddressFigures> {
    const chosen = this.#chosen();
    // Clients that fall silent leave without a line.
    const key = `${this.#lines} ${this.view} ${chosen.map(({ id }) => id)}`;
    if (this.#known?.key !== key) this.#known = { key, figures: aggregate(chosen) };
    return this.#known.figures;
  }

  unlisted(): AddressFigures {
    return this.#chosen().length > 0 ? idleFigures : unknownFigures;
  }

  notices(): readonly string[] {
    const notices: string[] = [];
    if (this.#trouble !== '') notices.push(`the observer records cannot be read: ${this.#trouble}`);
    const records = this.#records.filter((record) => this.#isChosen(record));
    if (records.length === 0 && this.#hasRead) {
      notices.push(
        this.view === null
          ? 'no client of this service publishes an observer record'
          : `no client named ${this.view} observes this service`,
      );
    }
    const silent = records.filter(({ statistics }) => statistics === '');
    if (silent.length > 0) notices.push(`${named(silent)} ${serves(silent)} no statistics`);
    const foreign = records.filter(isOutOfReach);
    if (foreign.length > 0) {
      const hosts = listed([...new Set(foreign.map(({ host }) => host))]);
      notices.push(
        `${named(foreign)} ${serves(foreign)} statistics on the loopback interface of ${hosts} only: statistics: 'HOST:PORT' there makes them readable from here`,
      );
    }
    for (const record of records.filter(({ id }) => this.#absent.has(id)).slice(0, mostNamed)) {
      notices.push(`${named([record])} is not among the clients that answer at ${record.statistics}`);
    }
    for (const [address, { stream }] of this.#processes) {
      const here = records.filter((record) => record.statistics === address && !isOutOfReach(record));
      if (here.length === 0 || (stream.hasAnswered && !isSilent(stream))) continue;
      if (!stream.hasAnswered && stream.trouble === '' && stream.silentForMs < 1000) continue;
      const why = stream.trouble === '' ? '' : `: ${stream.trouble}`;
      const how = stream.hasAnswered ? 'has been silent for' : 'has not answered for';
      notices.push(`${named(here)} at ${address} ${how} ${formatDuration(stream.silentForMs)}${why}`);
    }
    return notices;
  }

  look(address: string | null): void {
    this.#looked = address;
    for (const { stream } of this.#processes.values()) stream.trace(address);
  }

  detail(address: string): { readonly trace: readonly PickTrace[]; readonly readings: [] } {
    if (address !== this.#looked) return { trace: [], readings: [] };
    const trace = this.#chosen().flatMap((client) => client.trace);
    // Another address's may still be here until the streams are opened anew.
    const own = trace.filter(({ compared }) => compared.some((one) => one.address === address));
    own.sort((a, b) => (a.at < b.at ? 1 : -1));
    return { trace: own.slice(0, mostTrace), readings: [] };
  }

  views(): readonly string[] {
    return this.#records.map(({ id }) => id).sort();
  }

  select(view: string | null): void {
    this.view = view;
  }

  /** Figures come each interval, and wait for the next frame. */
  onNews(): void {}

  async close(): Promise<void> {
    this.#closing.abort();
    for (const { stream } of this.#processes.values()) stream.close();
    await this.#running;
  }

  /** The clients that are heard now. */
  #chosen(): readonly ClientFigures[] {
    const heard = [...this.#processes.values()].filter(({ stream }) => stream.hasAnswered && !isSilent(stream));
    const clients = heard.flatMap((process) => process.clients);
    return clients.filter((client) => client.service === this.#options.service && this.#isChosen(client));
  }

  #isChosen({ id, client }: { readonly id: string; readonly client: string }): boolean {
    return this.view === null || id === this.view || client === this.view;
  }

  async #follow(): Promise<void> {
    const { etcd, service, clock } = this.#options;
    const { signal } = this.#closing;
    for (let soonMs = firstReadAgainMs; !signal.aborted; soonMs = Math.min(readAgainMs, soonMs * 2)) {
      try {
        this.#read(await readObservers(etcd, service, { timeoutMs: readMs, signal }));
        this.#trouble = '';
        this.#hasRead = true;
        if (!signal.aborted) this.#connect();
      } catch (error) {
        // Who was there is there still, as far as anybody knows: their streams go on without etcd.
        this.#trouble = messageOf(error);
      }
      await sleep(clock, soonMs, signal);
    }
  }

  #read(records: readonly ObserverView[]): void {
    const now = this.#options.clock.monotonic();
    this.#records = records;
    this.#seenAtMs = new Map(records.map(({ id }) => [id, this.#seenAtMs.get(id) ?? now]));
    // Told by a line that is younger than the record, and by a record that is younger than the line: one that has come or
    // gone since is not missing.
    const isAbsent = ({ id, statistics }: ObserverView) => {
      const { stream, clients } = this.#processes.get(statistics) ?? {};
      if (!stream?.hasAnswered || isSilent(stream) || clients?.some((client) => client.id === id)) return false;
      return now - stream.silentForMs > (this.#seenAtMs.get(id) ?? now);
    };
    this.#absent = new Set(records.filter((record) => !isOutOfReach(record) && isAbsent(record)).map(({ id }) => id));
  }

  /** One stream a process, however many clients it has. */
  #connect(): void {
    const { service, intervalMs, clock } = this.#options;
    const served = this.#records.filter((record) => record.statistics !== '' && !isOutOfReach(record));
    const addresses = new Set(served.map(({ statistics }) => statistics));
    for (const [address, { stream }] of this.#processes) {
      if (addresses.has(address)) continue;
      stream.close();
      this.#processes.delete(address);
      this.#lines++;
    }
    for (const address of addresses) {
      if (this.#processes.has(address)) continue;
      const stream = new StatisticsReader({
        ...{ address, service, intervalMs, clock },
        onFigures: (clients) => {
          process.clients = clients;
          this.#lines++;
        },
      });
      const process: Process = { stream, clients: [] };
      stream.trace(this.#looked);
      this.#processes.set(address, process);
    }
  }
}

function isSilent(stream: StatisticsReader): boolean {
  return stream.silentForMs > stream.silentLimitMs;
}

/** The same address on this machine is somebody else's, or nobody's. */
function isOutOfReach({ host, statistics }: ObserverView): boolean {
  return host !== thisProcess().host && isLoopback(splitHostPort(statistics).host);
}

function serves(records: readonly unknown[]): string {
  return records.length > 1 ? 'serve' : 'serves';
}

function named(records: readonly ObserverView[]): string {
  return listed(records.map(({ id, client }) => id || client));
}

function listed(names: readonly string[]): string {
  const more = names.length - mostNamed;
  return more > 0 ? `${names.slice(0, mostNamed).join(', ')} and ${more} more` : names.join(', ');
}
