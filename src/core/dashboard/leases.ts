import type { Etcd } from '../etcd/port.js';
import type { Clock, Timer } from '../model/clock.js';
import { isLbctlError } from '../model/errors.js';

const tickMs = 250;
/** Each lease is asked for again after this long… */
const againMs = 3000;
/** …and never more of them than this in one tick: 40 a second, whatever the service's size. */
const mostInTick = 10;
const mostInFlight = 8;
const answerMs = 1000;

interface Known {
  askedAt: number;
  remainingSeconds: number | null;
  ttlSeconds: number;
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
    const known = this.#known.get(id);
    if (known?.remainingSeconds == null) return null;
    const remainingSeconds = Math.round(known.remainingSeconds - (this.clock.monotonic() - known.askedAt) / 1000);
    return remainingSeconds > 0 ? { remainingSeconds, ttlSeconds: known.ttlSeconds } : null;
  }

  #tick(): void {
    const now = this.clock.monotonic();
    const wanted = this.wanted();
    for (const id of this.#known.keys()) if (wanted.size > 0 && !wanted.has(id)) this.#known.delete(id);
    let asked = 0;
    for (const id of wanted) {
      if (this.#isRefused || asked === mostInTick || this.#inFlight === mostInFlight) break;
      const known = this.#known.get(id);
      if (known && now - known.askedAt < againMs) continue;
      asked++;
      void this.#ask(id, known);
    }
    this.#timer = this.clock.timer(tickMs, () => this.#tick());
  }

  async #ask(id: bigint, before: Known | undefined): Promise<void> {
    const askedAt = this.clock.monotonic();
    // Moved to the end: with more leases than ticks can ask for, each has its turn.
    this.#known.delete(id);
    this.#known.set(id, { ttlSeconds: 0, remainingSeconds: null, ...before, askedAt: before?.askedAt ?? askedAt });
    this.#inFlight++;
    try {
      const info = await this.etcd.leaseInfo(id, { timeoutMs: answerMs, signal: this.#closing.signal });
      const isGone = info.remainingSeconds < 0;
      this.#known.set(id, {
        askedAt: this.clock.monotonic(),
        remainingSeconds: isGone ? null : info.remainingSeconds,
        ttlSeconds: info.grantedSeconds,
      });
    } catch (error) {
      // An account without this right will not get it while we look; anything else may be over at the next turn.
      if (isLbctlError(error, 'ETCD_PERMISSION_DENIED')) this.#isRefused = true;
      this.#known.set(id, { askedAt: this.clock.monotonic(), remainingSeconds: null, ttlSeconds: 0 });
    } finally {
      this.#inFlight--;
    }
  }
}
