import { Agent, request } from 'node:http';
import type { Balancer, Candidate } from '../../core/balancer/balancer.js';
import type { Clock, Timer } from '../../core/model/clock.js';
import type { LbctlError } from '../../core/model/errors.js';

/** gRPC status codes that an HTTP answer stands for here. */
const ok = 0;
const internal = 13;
const deadlineExceeded = 4;
const unavailable = 14;

const deadlineMs = 2000;
/** Beyond this many calls in flight a call is not started: a stuck instance must not eat the process. */
const maxInFlight = 500;

export interface CallCounts {
  calls: number;
  errors: number;
  inFlight: number;
  totalMs: number;
}

/** Calls a service at a steady rate through a balancer, and counts what comes back from whom. */
export class Traffic {
  readonly counts = new Map<string, CallCounts>();
  readonly #agent = new Agent({ keepAlive: true });
  #timer: Timer | null = null;
  #inFlight = 0;
  #started = 0;
  #startedAt = 0;

  constructor(
    private readonly balancer: Balancer<Candidate>,
    private readonly callsPerSecond: number,
    private readonly clock: Clock,
  ) {}

  start(): void {
    this.#startedAt = this.clock.monotonic();
    this.#tick();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#agent.destroy();
  }

  #tick(): void {
    // By the clock, not by the timer: a late timer is made up for, so the rate holds.
    const due = Math.floor(((this.clock.monotonic() - this.#startedAt) / 1000) * this.callsPerSecond);
    for (; this.#started < due; this.#started++) if (this.#inFlight < maxInFlight) this.#call(String(this.#started));
    this.#timer = this.clock.timer(10, () => this.#tick());
  }

  #call(key: string): void {
    let picked: ReturnType<Balancer<Candidate>['pick']>;
    try {
      picked = this.balancer.pick({ key });
    } catch (error) {
      if ((error as LbctlError).code === 'NO_INSTANCE') return;
      throw error;
    }
    const { address } = picked.instance;
    const counts = this.#countsOf(address);
    const sentAt = this.clock.monotonic();
    counts.inFlight++;
    this.#inFlight++;
    let ended = false;
    const end = (code: number) => {
      if (ended) return;
      ended = true;
      counts.inFlight--;
      this.#inFlight--;
      counts.calls++;
      counts.totalMs += this.clock.monotonic() - sentAt;
      if (code !== ok) counts.errors++;
      picked.done({ code });
    };
    const call = request(`http://${address}/`, { agent: this.#agent, timeout: deadlineMs }, (response) => {
      response.resume();
      response.on('end', () => end(response.statusCode === 200 ? ok : internal));
      response.on('error', () => end(unavailable));
    });
    call.on('timeout', () => {
      end(deadlineExceeded);
      call.destroy();
    });
    call.on('error', () => end(unavailable));
    call.end();
  }

  #countsOf(address: string): CallCounts {
    let counts = this.counts.get(address);
    if (!counts) {
      counts = { calls: 0, errors: 0, inFlight: 0, totalMs: 0 };
      this.counts.set(address, counts);
    }
    return counts;
  }
}
