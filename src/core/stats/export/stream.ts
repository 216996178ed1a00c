import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../model/clock.js';
import { leastIntervalMs } from './request.js';

/** Who has not read a document after this time reads no more. */
const slowReaderMs = 10_000;

/**
 * One reader of the live stream. The next document is only written when the one before it has left: a slow reader gets
 * fewer, and costs the memory of one.
 */
export class StatisticsStream {
  readonly #response: ServerResponse;
  readonly #render: () => string;
  readonly #intervalMs: number;
  readonly #clock: Clock;
  #timer: Timer | null = null;
  #sentMs = Number.NEGATIVE_INFINITY;
  #isEnded = false;

  constructor(response: ServerResponse, render: () => string, intervalMs: number, clock: Clock) {
    this.#response = response;
    this.#render = render;
    this.#intervalMs = intervalMs;
    this.#clock = clock;
    response.once('close', () => this.#stop());
    this.#send();
  }

  /** Something changed that is told at once; at most ten times a second. */
  changed(): void {
    if (!this.#isEnded) this.#schedule(this.#sentMs + leastIntervalMs - this.#clock.monotonic());
  }

  end(): void {
    this.#stop();
    this.#response.end();
  }

  #send(): void {
    const now = this.#clock.monotonic();
    const isWaiting = this.#response.writableNeedDrain;
    if (isWaiting && now - this.#sentMs >= slowReaderMs) {
      this.#response.destroy();
      return;
    }
    if (!isWaiting && !this.#write(now)) return;
    this.#schedule(this.#intervalMs);
  }

  /** @returns whether the stream goes on. */
  #write(now: number): boolean {
    try {
      this.#sentMs = now;
      this.#response.write(`${this.#render()}\n`);
      return true;
    } catch {
      // Thrown on from a timer it would end the program.
      this.#response.destroy();
      return false;
    }
  }

  #schedule(ms: number): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.timer(Math.max(0, ms), () => this.#send(), { background: true });
  }

  #stop(): void {
    this.#isEnded = true;
    this.#timer?.cancel();
  }
}
