import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { openPipe } from '../../host/pipe.js';
import { type Clock, sleep } from '../../model/clock.js';
import { longestTimerMs } from '../../model/duration.js';
import { LbctlError, messageOf } from '../../model/errors.js';
import type { Frame } from '../frame.js';
import type { DashboardSource } from '../source.js';
import { decodeLine } from './format.js';

const headHint = 'lbctl dashboard SERVICE --record FILE writes one.';

/** Plays a recording at the pace at which it was made. Its last frame stays. */
export class ReplaySource implements DashboardSource {
  readonly ended: Promise<void>;
  readonly isRecorded = true;
  readonly #closing = new AbortController();
  readonly #waiting = new AbortController();
  readonly #listeners = new Set<() => void>();
  #frame: Frame;
  #damaged = 0;

  private constructor(first: Frame, lines: AsyncIterator<string>, clock: Clock, end: () => void) {
    this.#frame = first;
    this.ended = this.#play(lines, clock).finally(end);
  }

  /** @throws USAGE for a file that is no recording, or one without a frame. */
  static async open(path: string, clock: Clock): Promise<ReplaySource> {
    let stream: Readable | null = null;
    try {
      const input = (await openPipe(path)) ?? createReadStream(path);
      stream = input;
      const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]();
      const head = await lines.next();
      if (head.done || decodeLine(head.value)?.kind !== 'header') {
        throw new LbctlError('USAGE', `${path} is no recording of the dashboard, or one of another version`, {
          suggestions: [headHint],
        });
      }
      const first = await nextFrame(lines);
      if (!first.frame) {
        throw new LbctlError('USAGE', `The recording ${path} holds no frame`, { suggestions: [headHint] });
      }
      return new ReplaySource(first.frame, lines, clock, () => input.destroy());
    } catch (error) {
      stream?.destroy();
      if (error instanceof LbctlError) throw error;
      throw new LbctlError('USAGE', `Cannot read the recording ${path}: ${messageOf(error)}`, {
        cause: error,
        suggestions: [`Check the path and its permissions: ls -l ${path}`],
      });
    }
  }

  frame(): Frame {
    if (this.#damaged === 0) return this.#frame;
    const lines = this.#damaged === 1 ? '1 line' : `${this.#damaged} lines`;
    const notice = `${lines} of the recording could not be read, and left out`;
    return { ...this.#frame, notices: [...this.#frame.notices, notice] };
  }

  onNews(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  look(): void {}

  views(): readonly string[] {
    return [];
  }

  select(): void {}

  /** Goes on to the end without its pace. */
  hurry(): void {
    this.#waiting.abort();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#waiting.abort();
    await this.ended;
  }

  async #play(lines: AsyncIterator<string>, clock: Clock): Promise<void> {
    const { signal } = this.#closing;
    let startedAt = clock.monotonic();
    let startAt = Date.parse(this.#frame.at);
    while (!signal.aborted) {
      const { frame, isNewSession, damaged } = await nextFrame(lines).catch(() => nothingMore);
      if (!frame) return;
      if (isNewSession) {
        // Days may lie between two sessions of one file.
        startedAt = clock.monotonic();
        startAt = Date.parse(frame.at);
      }
      const dueMs = Date.parse(frame.at) - startAt - (clock.monotonic() - startedAt);
      await sleep(clock, Math.min(longestTimerMs, Math.max(0, dueMs)), this.#waiting.signal);
      if (signal.aborted) return;
      this.#frame = frame;
      this.#damaged += damaged;
      for (const listener of [...this.#listeners]) listener();
    }
  }
}

interface Next {
  readonly frame: Frame | null;
  readonly isNewSession: boolean;
  /** Lines before it that could not be read. */
  readonly damaged: number;
}

const nothingMore: Next = { frame: null, isNewSession: false, damaged: 0 };

/** A last line that was cut is the end, and no damage. */
async function nextFrame(lines: AsyncIterator<string>): Promise<Next> {
  let isNewSession = false;
  for (let damaged = 0; ; ) {
    const next = await lines.next();
    if (next.done) return nothingMore;
    const line = decodeLine(next.value);
    if (!line) damaged++;
    else if (line.kind === 'header') isNewSession = true;
    else return { frame: line.frame, isNewSession, damaged };
  }
}
