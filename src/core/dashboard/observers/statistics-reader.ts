import { type ClientRequest, request } from 'node:http';
import { type Clock, sleep, type Timer } from '../../model/clock.js';
import { messageOf } from '../../model/errors.js';
import type { ClientFigures } from '../../stats/figures.js';
import { LineSplitter } from '../../stats/lines.js';
import { decodeStatistics } from './decode.js';

export interface StreamOptions {
  /** `host:port`. */
  readonly address: string;
  readonly service: string;
  readonly intervalMs: number;
  readonly clock: Clock;
  /** A line came. */
  onFigures(clients: readonly ClientFigures[]): void;
}

const connectMs = 3000;
const shortestBackOffMs = 250;
const longestBackOffMs = 5000;
/** A thousand instances of two clients. */
const longestLineBytes = 8 << 20;

/** The live statistics of one process, over HTTP. Opens it again when it breaks or falls silent, until it is closed. */
export class StatisticsReader {
  readonly #options: StreamOptions;
  readonly #closing = new AbortController();
  #trace: string | null = null;
  #reopen = new AbortController();
  #lastAtMs: number;
  #hasAnswered = false;
  /** Why there is nothing now, for people; empty while there is. */
  #trouble = '';

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#lastAtMs = options.clock.monotonic();
    void this.#run();
  }

  /** Milliseconds since the last line, or since this was opened. */
  get silentForMs(): number {
    return this.#options.clock.monotonic() - this.#lastAtMs;
  }

  /** A line came at least once. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  get trouble(): string {
    return this.#trouble;
  }

  /** Silent for longer than that: what was told last is not so any more. */
  get silentLimitMs(): number {
    return Math.max(3000, 3 * this.#options.intervalMs);
  }

  /** The address whose picks are to be told. */
  trace(address: string | null): void {
    if (this.#trace === address) return;
    this.#trace = address;
    this.#reopen.abort();
  }

  close(): void {
    this.#closing.abort();
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#closing;
    let backOffMs = shortestBackOffMs;
    while (!signal.aborted) {
      this.#reopen = new AbortController();
      const before = this.#lastAtMs;
      this.#trouble = await this.#read(AbortSignal.any([signal, this.#reopen.signal]));
      if (this.#reopen.signal.aborted) continue;
      backOffMs = this.#lastAtMs > before ? shortestBackOffMs : Math.min(longestBackOffMs, backOffMs * 2);
      await sleep(clock, backOffMs, signal);
    }
  }

  /** Until it ends; why it did. */
  #read(signal: AbortSignal): Promise<string> {
    const { address, service, intervalMs, clock, onFigures } = this.#options;
    return new Promise((resolve) => {
      let timer: Timer | null = null;
      const end = (why: string) => {
        timer?.cancel();
        signal.removeEventListener('abort', abort);
        resolve(why);
        call?.destroy();
      };
      const abort = () => end('');
      const expect = (ms: number, why: string) => {
        timer?.cancel();
        timer = clock.timer(ms, () => end(why));
      };
      let call: ClientRequest | null = null;
      try {
        call = request(streamUrl(address, { service, intervalMs, trace: this.#trace }), { agent: false });
      } catch (error) {
        return end(messageOf(error));
      }
      signal.addEventListener('abort', abort, { once: true });
      expect(connectMs, 'no answer');
      call.on('error', (error) => end(messageOf(error)));
      call.on('response', (response) => {
        if (response.statusCode !== 200) return end(`HTTP ${response.statusCode}`);
        const lines = new LineSplitter(longestLineBytes);
        expect(this.silentLimitMs, 'silent');
        response.on('data', (chunk: Buffer) => {
          for (const line of lines.push(chunk)) {
            const clients = line === '' ? [] : decodeStatistics(line);
            if (!clients) return end('it sends something else than statistics');
            expect(this.silentLimitMs, 'silent');
            this.#lastAtMs = clock.monotonic();
            this.#hasAnswered = true;
            this.#trouble = '';
            onFigures(clients);
          }
        });
        response.on('error', (error) => end(messageOf(error)));
        response.on('close', () => end('it ended the stream'));
      });
      call.end();
    });
  }
}

function streamUrl(
  address: string,
  { service, intervalMs, trace }: { service: string; intervalMs: number; trace: string | null },
): URL {
  // What a record of somebody else says must not name more than a host and a port.
  if (!/^(\[[0-9a-fA-F:.]+\]|[\w.-]+):\d{1,5}$/.test(address)) throw new Error(`"${address}" is not host:port`);
  const url = new URL(`http://${address}/statistics/stream`);
  url.searchParams.set('service', service);
  url.searchParams.set('intervalMs', String(intervalMs));
  if (trace !== null) url.searchParams.set('trace', trace);
  return url;
}
