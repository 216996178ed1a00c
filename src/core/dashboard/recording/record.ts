import { type FileHandle, open } from 'node:fs/promises';
import { type Clock, sleep, type Timer } from '../../model/clock.js';
import { LbctlError, messageOf } from '../../model/errors.js';
import type { Frame } from '../frame.js';
import type { DashboardSource } from '../source.js';
import { decodeLine, recordingHeader } from './format.js';

const headBytes = 4096;
/** A disk takes a frame within that, a mount whose server is gone never. */
const lastWriteMs = 1000;

/** Another source's frames, each of them written to a file as well. */
export class RecordedSource implements DashboardSource {
  readonly ended: Promise<void> | undefined;
  readonly #source: DashboardSource;
  readonly #file: FileHandle;
  readonly #intervalMs: number;
  readonly #clock: Clock;
  #timer: Timer | null = null;
  #trouble = '';
  /** The write that is under way: frames that come meanwhile are not kept for it. */
  #writing: Promise<void> | null = null;
  #closed: Promise<void> | null = null;

  private constructor(source: DashboardSource, file: FileHandle, intervalMs: number, clock: Clock) {
    this.#source = source;
    this.ended = source.ended;
    this.#file = file;
    this.#intervalMs = intervalMs;
    this.#clock = clock;
    this.#next();
  }

  /** Appends to `path` from now on, a frame each interval. @throws USAGE for a file that is no recording or cannot be written. */
  static async open(path: string, source: DashboardSource, intervalMs: number, clock: Clock): Promise<RecordedSource> {
    return new RecordedSource(source, await openRecording(path), intervalMs, clock);
  }

  frame(): Frame {
    const frame = this.#source.frame();
    return this.#trouble === '' ? frame : { ...frame, notices: [this.#trouble, ...frame.notices] };
  }

  onNews(listener: () => void): () => void {
    return this.#source.onNews(listener);
  }

  look(id: string | null): void {
    this.#source.look(id);
  }

  views(): readonly string[] {
    return this.#source.views();
  }

  select(view: string | null): void {
    this.#source.select(view);
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    this.#timer?.cancel();
    // The last frame is what one wants to see first afterwards.
    const written = (async () => {
      await this.#writing;
      await this.#write();
      await this.#file.close();
    })();
    const settled = new AbortController();
    const ending = written.catch(() => {}).finally(() => settled.abort());
    await Promise.race([ending, sleep(this.#clock, lastWriteMs, settled.signal)]);
    await this.#source.close();
  }

  #next(): void {
    this.#timer = this.#clock.timer(this.#intervalMs, () => {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = null;
      });
      this.#next();
    });
  }

  async #write(): Promise<void> {
    try {
      await this.#file.appendFile(`${JSON.stringify(this.#source.frame())}\n`);
      this.#trouble = '';
    } catch (error) {
      this.#trouble = `the recording cannot be written: ${messageOf(error)}`;
    }
  }
}

async function openRecording(path: string): Promise<FileHandle> {
  let file: FileHandle | null = null;
  try {
    file = await open(path, 'a+');
    const { size } = await file.stat();
    const head = Buffer.alloc(headBytes);
    const { bytesRead } = await file.read(head, 0, headBytes, 0);
    const [first = ''] = head.toString('utf8', 0, bytesRead).split('\n');
    if (bytesRead > 0 && decodeLine(first)?.kind !== 'header') throw notOurs(path);
    const last = Buffer.alloc(1);
    if (size > 0) await file.read(last, 0, 1, size - 1);
    // The last line of one that was killed has no end.
    const gap = size > 0 && last.toString() !== '\n' ? '\n' : '';
    await file.appendFile(`${gap}${JSON.stringify(recordingHeader)}\n`);
    return file;
  } catch (error) {
    await file?.close();
    if (error instanceof LbctlError) throw error;
    throw new LbctlError('USAGE', `Cannot record to ${path}: ${messageOf(error)}`, {
      cause: error,
      suggestions: [`Check the path and its permissions: ls -l ${path}`],
    });
  }
}

function notOurs(path: string): LbctlError {
  return new LbctlError(
    'USAGE',
    `${path} holds something else than a recording of the dashboard: nothing was written`,
    {
      suggestions: ['Name a file that is not there yet.'],
    },
  );
}
