import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../model/clock.js';
import { leastIntervalMs } from './request.js';

/** Who has not read a document after this time reads no more. */
const slowReaderMs = 10_000;
const lineEnd = '\n';

/**
 * One reader of the live stream. The next document is only written when the one before it has left: a slow reader gets
 * fewer, and costs the memory of one.
 */
export class StatisticsStream {
  readonly #response: ServerResponse;
  readonly #render: () => Promise<Uint8Array> | null;
  readonly #intervalMs: number;
  readonly #clock: Clock;
  #timer: Timer | null = null;
  #sentMs = Number.NEGATIVE_INFINITY;
  #isRendering = false;
  #hasChanged = false;
  #isEnded = false;

  /** `render` gives null when there is no document this time. */
  constructor(response: ServerResponse, render: () => Promise<Uint8Array> | null, intervalMs: number, clock: Clock) {
    this.#response = response;
    this.#render = render;
    this.#intervalMs = intervalMs;
    this.#clock = clock;
    response.once('close', () => this.#stop());
    void this.#send();
  }

  /** Something changed that is told at once; at most ten times a second. */
  changed(): void {
    this.#hasChanged = true;
    if (!this.#isRendering) this.#schedule();
  }

  end(): void {
    this.#stop();
    this.#response.end();
  }

  async #send(): Promise<void> {
    const now = this.#clock.monotonic();
    const isWaiting = this.#response.writableNeedDrain;
    if (isWaiting && now - this.#sentMs >= slowReaderMs) {
      this.#response.destroy();
      return;
    }
    this.#hasChanged = false;
    if (!isWaiting) await this.#write(now);
    this.#schedule();
  }

  async #write(now: number): Promise<void> {
    this.#sentMs = now;
    this.#isRendering = true;
    try {
      const document = await this.#render();
      if (this.#isEnded || document === null) return;
      this.#response.write(document);
      this.#response.write(lineEnd);
    } catch {
      // Nobody waits for this: thrown on it would end the program.
      this.#response.destroy();
    } finally {
      this.#isRendering = false;
    }
  }

  #schedule(): void {
    if (this.#isEnded) return;
    this.#timer?.cancel();
    const now = this.#clock.monotonic();
    const ms = this.#hasChanged ? this.#sentMs + leastIntervalMs - now : this.#intervalMs;
    this.#timer = this.#clock.timer(Math.max(0, ms), () => void this.#send(), { background: true });
  }

  #stop(): void {
    this.#isEnded = true;
    this.#timer?.cancel();
  }
}
