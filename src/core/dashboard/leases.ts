import type { Etcd } from '../etcd/port.js';
import type { Clock, Timer } from '../model/clock.js';
import { isLbctlError } from '../model/errors.js';

const tickMs = 250;
/** Each lease is asked for again after this long… */
const againMs = 3000;
/** …and never more of them than this in one tick: 40 a second, whatever the service's size. */
const mostInTick = 10;
const answerMs = 1000;

interface Known {
  /** When it was asked for last, answered or not. */
  askedAtMs: number;
  isAsked: boolean;
  answer: { readonly atMs: number; readonly remainingSeconds: number; readonly ttlSeconds: number } | null;
}

/** How long the leases of a service still live. Asks a few at a time, and counts down in between. */
export class LeaseWatch {
  readonly #known = new Map<bigint, Known>();
  readonly #closing = new AbortController();
  #inFlight = 0;
  #timer: Timer | null = null;
  #isRefused = false;

  /** `wanted` tells the leases that are of interest now; none while etcd is not heard. */
  constructor(
    private readonly etcd: Etcd,
    private readonly clock: Clock,
    private readonly wanted: () => ReadonlySet<bigint>,
  ) {}

  start(): void {
    this.#tick();
  }

  close(): void {
    this.#closing.abort();
    this.#timer?.cancel();
  }

  /** Null: not known. What should be over by now and is still there has been renewed since. */
  remaining(id: bigint): { readonly remainingSeconds: number; readonly ttlSeconds: number } | null {
    const answer = this.#known.get(id)?.answer;
    if (!answer) return null;
    const { atMs, ttlSeconds } = answer;
    const remainingSeconds = Math.round(answer.remainingSeconds - (this.clock.monotonic() - atMs) / 1000);
    return remainingSeconds > 0 ? { remainingSeconds, ttlSeconds } : null;
  }

  #tick(): void {
    const now = this.clock.monotonic();
    const wanted = this.wanted();
    for (const id of this.#known.keys()) if (wanted.size > 0 && !wanted.has(id)) this.#known.delete(id);
    const room = this.#isRefused ? 0 : mostInTick - this.#inFlight;
    for (const id of this.#longestUnasked(wanted, now).slice(0, room)) void this.#ask(id, now);
    this.#timer = this.clock.timer(tickMs, () => this.#tick());
  }

  /** Those that are due, first what was never asked for: with more leases than ticks can ask for, each has its turn. */
  #longestUnasked(wanted: ReadonlySet<bigint>, now: number): readonly bigint[] {
    const askedAtMs = (id: bigint) => this.#known.get(id)?.askedAtMs ?? Number.NEGATIVE_INFINITY;
    const due = [...wanted].filter((id) => !this.#known.get(id)?.isAsked && now - askedAtMs(id) >= againMs);
    return due.sort((a, b) => askedAtMs(a) - askedAtMs(b) || 0);
  }

  async #ask(id: bigint, now: number): Promise<void> {
    const known: Known = this.#known.get(id) ?? { askedAtMs: now, isAsked: true, answer: null };
    known.askedAtMs = now;
    known.isAsked = true;
    this.#known.set(id, known);
    this.#inFlight++;
    try {
      const info = await this.etcd.leaseInfo(id, { timeoutMs: answerMs, signal: this.#closing.signal });
      const { remainingSeconds, grantedSeconds: ttlSeconds } = info;
      known.answer = remainingSeconds < 0 ? null : { atMs: this.clock.monotonic(), remainingSeconds, ttlSeconds };
    } catch (error) {
      // An account without this right will not get it while we look; anything else may be over at the next turn.
      if (isLbctlError(error, 'ETCD_PERMISSION_DENIED')) this.#isRefused = true;
    } finally {
      known.isAsked = false;
      this.#inFlight--;
    }
  }
}
