import type { IDuplexStream, IWatchRequest, IWatchResponse } from 'etcd3';
import type { Timer } from '../model/clock.js';
import { type LbctlError, messageOf } from '../model/errors.js';
import { type CallTap, tapCall } from './call-tap.js';
import { rangeBytes, toEvent, toHeader } from './convert.js';
import type { Core } from './core.js';
import { classify } from './errors.js';
import type { Host, Link } from './link.js';
import type { Header, KeyRange, WatchEvent } from './port.js';
import * as reads from './reads.js';
import { type Baseline, FragmentJoiner, historyBreak, isAuthReason, startRevision } from './watch-frames.js';

/** One etcd watch stream has one of these ends. */
export type StreamEnd =
  /** Worth another stream. `token`: the one it was opened with is suspect. */
  | { readonly kind: 'broken'; readonly reason: string; readonly token?: boolean }
  | { readonly kind: 'lost'; readonly why: 'compacted' | 'wiped' | 'refused'; readonly detail: string }
  /** No range is left that the user may read. */
  | { readonly kind: 'denied' }
  | { readonly kind: 'closed' };

/** The watch that a stream works for. */
export interface StreamOwner {
  readonly ranges: readonly KeyRange[];
  /** The lowest revision of a range that was not delivered yet; null when the range is given up. */
  resumeAt(rangeIndex: number): bigint | null;
  readonly baseline: Baseline | null;
  /** The token was fetched for this stream: a denial is final. Also when there is no account at all. */
  readonly isTokenFresh: boolean;
  seen(header: Header): void;
  live(): void;
  events(rangeIndex: number, events: readonly WatchEvent[]): void;
  denied(rangeIndex: number, error: LbctlError): void;
}

/** The created frames must come within this time. */
const createdWithinMs = 3000;
/** After so long without a frame the stream is asked for a sign of life… */
const idleMs = 4000;
/** …and given up when none comes within this time. */
const progressWithinMs = 2000;

export class WatchStream {
  readonly ended: Promise<StreamEnd>;
  /** When etcd was last heard, by the monotonic clock: with a frame, or with the list that the watch continues. */
  heardAtMs: number;
  readonly #core: Core;
  readonly #owner: StreamOwner;
  readonly #host: Host;
  readonly #link: Link;
  readonly #joiner = new FragmentJoiner();
  /** Ranges whose created frame is awaited: etcd answers in the order of the requests. */
  readonly #creating: number[] = [];
  readonly #rangeOf = new Map<string, number>();
  #resolve: (end: StreamEnd) => void = () => {};
  #stream: IDuplexStream<IWatchRequest, IWatchResponse> | null = null;
  #tap: CallTap | null = null;
  #timer: Timer | null = null;
  #isOver = false;
  #isLive = false;
  #isConfirming = false;
  readonly #forgetRefusals: () => void;
  /** The token that this stream carries. */
  token: string | null = null;

  constructor(core: Core, owner: StreamOwner) {
    this.#core = core;
    this.#owner = owner;
    this.heardAtMs = core.clock.monotonic();
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#host = core.balancer.choose();
    this.#link = this.#host.begin('streams');
    this.#forgetRefusals = this.#host.whenRefused(() => {
      if (this.#isLive)
        this.#finish({ kind: 'broken', reason: `${this.#host.address} is leaving: it refuses connections` });
    });
    this.#open().catch((error: unknown) => this.#finish({ kind: 'broken', reason: messageOf(error) }));
  }

  close(): void {
    this.#finish({ kind: 'closed' });
  }

  async #open(): Promise<void> {
    const { clock, dialTimeoutMs, tokens } = this.#core;
    if (!(await this.#link.settle(Math.min(dialTimeoutMs, createdWithinMs), clock))) return this.#silent('is silent');
    const client = await this.#link.etcd3();
    this.token = (await tokens?.get()) ?? null;
    if (this.#isOver) return;
    const tap = tapCall({ token: this.token, requireLeader: true });
    const stream = await client.watchClient.watch(tap.options);
    stream.on('error', (error) => this.#broke(messageOf(error)));
    stream.on('end', () => this.#broke('the server ended the stream'));
    stream.on('data', (frame) => this.#heard(frame));
    this.#tap = tap;
    this.#stream = stream;
    if (this.#isOver) return this.#cancel();
    for (const [index, range] of this.#owner.ranges.entries()) {
      const resumeAt = this.#owner.resumeAt(index);
      if (resumeAt === null) continue;
      this.#creating.push(index);
      stream.write({
        create_request: {
          ...rangeBytes(range),
          start_revision: String(startRevision(resumeAt)),
          prev_kv: true,
          fragment: true,
        },
      });
    }
    this.#awaitFrame(createdWithinMs, () => this.#silent('opened no watch'));
  }

  #heard(frame: IWatchResponse): void {
    if (this.#isOver || this.#isConfirming) return;
    this.heardAtMs = this.#core.clock.monotonic();
    if (this.#isLive) this.#expectMore();
    const whole = this.#joiner.push(frame);
    if (whole === null) return;
    const rangeIndex = whole.created ? this.#creating.shift() : this.#rangeOf.get(whole.watch_id);
    if (whole.canceled) {
      this.#canceled(whole, rangeIndex);
      return;
    }
    if (whole.created && rangeIndex !== undefined) this.#rangeOf.set(whole.watch_id, rangeIndex);
    if (this.#isHistoryBroken(whole, rangeIndex)) return;
    if (rangeIndex !== undefined && whole.events.length > 0) {
      this.#owner.events(rangeIndex, whole.events.map(toEvent));
    }
    this.#maybeLive();
  }

  #maybeLive(): void {
    if (this.#isOver || this.#isLive || this.#creating.length > 0) return;
    this.#isLive = true;
    this.#core.balancer.praise(this.#host);
    this.#expectMore();
    this.#owner.live();
  }

  #canceled(frame: IWatchResponse, rangeIndex: number | undefined): void {
    const reason = frame.cancel_reason || 'no reason given';
    const compacted = BigInt(frame.compact_revision);
    if (compacted > 0n) {
      this.#finish({ kind: 'lost', why: 'compacted', detail: `revisions below ${compacted} are compacted` });
    } else if (!isAuthReason(reason) || rangeIndex === undefined) {
      const detail = `${this.#host.address} cancelled the watch: ${reason}`;
      this.#finish({ kind: 'lost', why: 'refused', detail });
    } else if (!this.#owner.isTokenFresh || /auth token|auth store/.test(reason)) {
      this.#finish({ kind: 'broken', reason: `${this.#host.address} refused the token: ${reason}`, token: true });
    } else {
      this.#denied(rangeIndex, reason);
    }
  }

  /** Ends one range; the others go on. */
  #denied(rangeIndex: number, reason: string): void {
    const what = `watch ${JSON.stringify(this.#owner.ranges[rangeIndex]?.key)}`;
    this.#owner.denied(rangeIndex, classify({ code: 7, details: reason }, this.#context(what)).error);
    if (this.#owner.ranges.every((_, index) => this.#owner.resumeAt(index) === null)) {
      this.#finish({ kind: 'denied' });
    }
    this.#maybeLive();
  }

  /** True when the frame may belong to another history: nothing of it is used until a linearizable read has told. */
  #isHistoryBroken(frame: IWatchResponse, rangeIndex: number | undefined): boolean {
    const header = toHeader(frame.header);
    if (header.revision === 0n) return false;
    const suspicion = historyBreak(this.#owner.baseline, header, this.#resumeAt(rangeIndex));
    if (suspicion === null) {
      this.#owner.seen(header);
      return false;
    }
    this.#isConfirming = true;
    this.#timer?.cancel();
    void this.#confirm(suspicion, rangeIndex);
    return true;
  }

  /** A frame that belongs to no range (a progress reply) must not be behind any. */
  #resumeAt(rangeIndex: number | undefined): bigint {
    const indexes = rangeIndex === undefined ? [...this.#owner.ranges.keys()] : [rangeIndex];
    return indexes.reduce((most, index) => {
      const resumeAt = this.#owner.resumeAt(index) ?? 0n;
      return resumeAt > most ? resumeAt : most;
    }, 0n);
  }

  async #confirm(suspicion: string, rangeIndex: number | undefined): Promise<void> {
    const index = rangeIndex ?? this.#owner.ranges.findIndex((_, i) => this.#owner.resumeAt(i) !== null);
    const range = this.#owner.ranges[index];
    if (range === undefined) return this.#finish({ kind: 'broken', reason: suspicion });
    try {
      const answer = await this.#core.unary.call({
        what: 'confirm the history of etcd',
        repeat: 'safe',
        run: (link, options) => link.read(reads.range, { range, limit: 1n, revision: 0n, keysOnly: true }, options),
      });
      const proof = historyBreak(this.#owner.baseline, answer.header, this.#resumeAt(rangeIndex));
      if (proof !== null) return this.#finish({ kind: 'lost', why: 'wiped', detail: proof });
      this.#core.balancer.blame(this.#host);
      this.#finish({ kind: 'broken', reason: `${this.#host.address} lags behind: ${suspicion}` });
    } catch (error) {
      this.#finish({ kind: 'broken', reason: `${suspicion}; ${messageOf(error)}` });
    }
  }

  #expectMore(): void {
    this.#awaitFrame(idleMs, () => {
      this.#stream?.write({ progress_request: {} });
      this.#awaitFrame(progressWithinMs, () => this.#silent('has gone silent'));
    });
  }

  #awaitFrame(ms: number, onMissing: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#isOver ? null : this.#core.clock.timer(ms, onMissing);
  }

  #silent(what: string): void {
    if (this.#isOver) return;
    this.#core.balancer.blame(this.#host);
    this.#host.renew('streams');
    this.#finish({ kind: 'broken', reason: `${this.#host.address} ${what}` });
  }

  #broke(details: string): void {
    if (this.#isOver) return;
    const failure = classify(this.#tap?.status() ?? { code: 14, details }, this.#context('watch'));
    if (failure.remedy === 'elsewhere') this.#core.balancer.blame(this.#host);
    this.#finish({ kind: 'broken', reason: failure.error.message, token: failure.remedy === 'token' });
  }

  /** The one way to end; whatever arrives later meets `#isOver`. */
  #finish(end: StreamEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#timer?.cancel();
    this.#forgetRefusals();
    this.#cancel();
    this.#link.end();
    this.#resolve(end);
  }

  /** etcd ignores a half-closed watch stream: only a cancelled one ends its watchers, and lets the process exit. */
  #cancel(): void {
    this.#stream?.end();
    this.#tap?.cancel();
  }

  #context(what: string) {
    const { address, endpoint } = this.#host;
    return { what, address, secure: endpoint.secure, user: this.#core.user };
  }
}
