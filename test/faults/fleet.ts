/** The processes that live through a fault: publishers, a watch and a subscriber, and what they are held against. */
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Ended, type Live, start, startNode } from '../support/cli.js';
import { openTruth, type TrueEvent, type Truth } from '../support/etcd-truth.js';
import { type Account, account, foldLines, type Line, parseLine } from '../support/ledger.js';

/** The bound that the issue sets: this long after etcd is healthy everything agrees. */
export const convergenceMs = 5000;
const lifetimeMs = 110_000;

export interface TimedLine extends Line {
  /** Monotonic milliseconds at which this process read it. */
  readonly at: number;
}

export interface Watching {
  readonly process: Live;
  readonly lines: readonly TimedLine[];
}

export interface Publishing {
  readonly address: string;
  readonly process: Live;
}

export interface Subscribing {
  readonly process: Live;
  view(): { readonly isStale: boolean; readonly addresses: readonly string[] } | null;
}

export function startWatch(service: string, endpoints: readonly string[]): Watching {
  const process = start(['watch', service, '-o', 'json', '--endpoints', endpoints.join(',')], {
    timeoutMs: lifetimeMs,
  });
  const lines: TimedLine[] = [];
  if (process.child.stdout) {
    createInterface({ input: process.child.stdout }).on('line', (text) => {
      lines.push({ ...parseLine(text), at: performance.now() });
    });
  }
  return { process, lines };
}

export function startRegister(
  service: string,
  endpoints: readonly string[],
  address: string,
  ttlSeconds: number,
): Publishing {
  const args = ['register', service, address, '--ttl', `${ttlSeconds}s`, '--endpoints', endpoints.join(',')];
  return { address, process: start(args, { timeoutMs: lifetimeMs }) };
}

export function startSubscriber(service: string, endpoints: readonly string[], ...more: string[]): Subscribing {
  const script = fileURLToPath(new URL('./subscriber-process.mjs', import.meta.url));
  const process = startNode([script, service, endpoints.join(','), ...more], { timeoutMs: lifetimeMs });
  return {
    process,
    view() {
      const lines = process.stdout().split('\n');
      const last = lines.at(-2);
      return last === undefined ? null : JSON.parse(last);
    },
  };
}

export interface FleetOptions {
  readonly service: string;
  /** Where the watch and the subscriber reach etcd. */
  readonly readers: readonly string[];
  /** Where the publishers reach it. Default: as the readers. */
  readonly writers?: readonly string[];
  /** Where the truth is read: etcd itself, past every proxy. */
  readonly truth: string;
  readonly ttlSeconds?: number;
}

export class Fleet {
  readonly service: string;
  readonly prefix: string;
  readonly truth: Truth;
  readonly publishers: Publishing[] = [];
  readonly watch: Watching;
  readonly subscriber: Subscribing;
  readonly #options: FleetOptions;

  /** The readers start at once, the publishers with `publish`. */
  constructor(options: FleetOptions) {
    const { service, readers, truth } = options;
    this.#options = options;
    this.service = service;
    this.prefix = `${service}/`;
    this.truth = openTruth(truth);
    this.watch = startWatch(service, readers);
    this.subscriber = startSubscriber(service, readers);
  }

  publish(): void {
    const { service, readers, writers = readers, ttlSeconds = 10 } = this.#options;
    for (let i = 1; i <= 3; i++) {
      this.publishers.push(startRegister(service, writers, `10.0.0.${i}:8080`, ttlSeconds));
    }
  }

  /** What etcd, the watch, the subscriber and the publishers disagree about; empty when they agree. */
  async disagreements(): Promise<string[]> {
    const found: string[] = [];
    const keys = await this.truth.keys(this.prefix);
    const folded = foldLines(this.watch.lines);
    if (!folded.isSynced) found.push('the watch has not synced');
    if (folded.isStale) found.push('the watch is stale');
    const there = new Set(keys.map(({ key }) => key));
    for (const { key, value, lease } of keys) {
      const known = folded.instances.get(key);
      const address = addressIn(value);
      const is = `${address} on lease ${lease}`;
      if (!known) found.push(`the watch misses ${key}`);
      else if (`${known.address} on lease ${known.lease ?? '0'}` !== is)
        found.push(`the watch has ${key} wrong: not ${is}`);
    }
    for (const key of folded.instances.keys()) if (!there.has(key)) found.push(`the watch still has ${key}`);

    const view = this.subscriber.view();
    const addresses = [...new Set(keys.map(({ value }) => addressIn(value)))].filter((a) => a !== '').sort();
    if (view === null || view.isStale) found.push('the subscriber is stale');
    if (view && view.addresses.join() !== addresses.join()) {
      found.push(`the subscriber has ${view.addresses.join()}, etcd ${addresses.join()}`);
    }
    for (const { address } of this.publishers) {
      const own = keys.filter(({ value }) => addressIn(value) === address);
      if (own.length !== 1) found.push(`${address} has ${own.length} keys`);
    }
    const leases = await this.truth.leases();
    if (leases.length !== this.publishers.length) {
      found.push(`${leases.length} leases for ${this.publishers.length} publishers`);
    }
    return found;
  }

  /** Waits for agreement until that monotonic time. @throws what they disagree about at that time. */
  async settled(deadline: number): Promise<number> {
    let found: readonly string[] = [];
    for (;;) {
      try {
        found = await this.disagreements();
      } catch (error) {
        found = [String(error)];
      }
      const now = performance.now();
      if (found.length === 0) return now;
      if (now > deadline) throw new Error(`They disagree:\n  ${found.join('\n  ')}\n${this.report()}`);
      await pause(50);
    }
  }

  /**
   * Agreement 5 s after etcd became healthy. It must be reached before and still hold then: right after an outage all may agree
   * on leases that are about to be replaced. @returns when the agreement began that held, in ms after `healthyAt`.
   */
  async converged(healthyAt: number): Promise<number> {
    let since = await this.settled(healthyAt + convergenceMs);
    while (performance.now() < healthyAt + convergenceMs) {
      await pause(50);
      const found = await this.disagreements();
      if (found.length > 0) since = await this.settled(healthyAt + convergenceMs);
    }
    return since - healthyAt;
  }

  /** The watch's lines from `from` on against etcd's events above `after` (default: the revision it began with). */
  balance(
    history: readonly TrueEvent[],
    { from = 0, after = this.syncedAt() } = {},
  ): Account & { contradictions: readonly string[] } {
    const { contradictions } = foldLines(this.watch.lines);
    return { ...account(history, this.watch.lines.slice(from), after), contradictions };
  }

  syncedAt(): bigint {
    return this.watch.lines.find(({ type }) => type === 'SYNCED')?.revision ?? 0n;
  }

  leaseOf(address: string): Promise<bigint> {
    return this.truth.keys(this.prefix).then((keys) => keys.find((k) => addressIn(k.value) === address)?.lease ?? 0n);
  }

  /** SIGTERM to everybody; how each ended and after how long. */
  async end(): Promise<ReadonlyArray<{ name: string; code: number; ms: number; stderr: string }>> {
    const from = performance.now();
    const after = async (name: string, ended: Promise<Ended>) => {
      const { code, stderr } = await ended;
      return { name, code, ms: performance.now() - from, stderr };
    };
    const all = [
      after('watch', this.watch.process.ended),
      after('subscriber', this.subscriber.process.ended),
      ...this.publishers.map(({ address, process }) => after(`register ${address}`, process.ended)),
    ];
    this.watch.process.child.kill('SIGTERM');
    this.subscriber.process.child.kill('SIGTERM');
    for (const { process } of this.publishers) process.child.kill('SIGTERM');
    return Promise.all(all);
  }

  /** For a test that failed: nothing is left behind. */
  kill(): void {
    this.truth.close();
    this.watch.process.kill();
    this.subscriber.process.kill();
    for (const { process } of this.publishers) process.kill();
  }

  report(): string {
    const tail = (text: string) => text.split('\n').slice(-12).join('\n  ');
    const lines = this.watch.lines
      .slice(-25)
      .map(({ type, revision, key, cause }) => `${type} ${revision} ${key} ${cause}`);
    return [
      `watch:\n  ${lines.join('\n  ')}\n  ${tail(this.watch.process.stderr())}`,
      `subscriber: ${JSON.stringify(this.subscriber.view())}`,
      ...this.publishers.map((p) => `register ${p.address}:\n  ${tail(p.process.stdout() + p.process.stderr())}`),
    ].join('\n');
  }
}

/** Values of these tests are `host:port`, or so large that they are no address. */
export function addressIn(value: Buffer): string {
  const text = value.length > 100 ? '' : value.toString();
  return /^[\d.]+:\d+$/.test(text) ? text : '';
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What the condition gives, as soon as it gives something. @throws after `withinMs` with `what`. */
export async function waitFor<T>(
  what: string,
  withinMs: number,
  condition: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await condition();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`${withinMs} ms passed waiting for ${what}`);
    await pause(10);
  }
}
