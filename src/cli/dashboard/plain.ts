import type { Frame } from '../../core/dashboard/frame.js';
import { sleep, systemClock } from '../../core/model/clock.js';
import { longestTimerMs } from '../../core/model/duration.js';
import type { View } from '../base-command.js';
import { document, toJson } from '../output/structured.js';
import type { EndingSource } from './open.js';
import { frameText } from './text.js';

export interface PlainOptions {
  readonly intervalMs: number;
  /** Null: until the source or the process ends. */
  readonly durationMs: number | null;
  readonly isNdjson: boolean;
  readonly view: View;
  readonly signal: AbortSignal;
  print(text: string): void;
}

/** A frame every interval, as text or as a line of JSON, and a last one at the end; of a recording each frame once. */
export async function printFrames(source: EndingSource, options: PlainOptions): Promise<void> {
  const { durationMs, isNdjson, view, signal, print } = options;
  const over = endOf(source, durationMs, signal);
  let isFirst = true;
  const show = async (frame: Frame): Promise<void> => {
    if (signal.aborted) return;
    if (isNdjson) print(`${toJson(document(frame), 0)}\n`);
    else print(`${isFirst ? '' : '\n'}${await frameText(frame, view)}`);
    isFirst = false;
  };
  await (source.isRecorded ? showEach(source, over, show) : showAtIntervals(source, over, options, show));
}

async function showEach(source: EndingSource, over: AbortSignal, show: (frame: Frame) => Promise<void>): Promise<void> {
  let shown = show(source.frame());
  const stop = source.onNews(() => {
    const frame = source.frame();
    shown = shown.then(() => show(frame));
  });
  await sleep(systemClock, longestTimerMs, over);
  stop();
  await shown;
}

async function showAtIntervals(
  source: EndingSource,
  over: AbortSignal,
  { intervalMs, durationMs }: PlainOptions,
  show: (frame: Frame) => Promise<void>,
): Promise<void> {
  const startedAt = systemClock.monotonic();
  let last: string | null = null;
  for (let count = 1; ; count++) {
    const dueMs = count * intervalMs;
    // The end brings one of its own.
    const isLast = durationMs !== null && dueMs > durationMs - intervalMs / 2;
    // From the start, not from the last one: a late frame makes the next no later.
    const waitMs = isLast ? longestTimerMs : Math.max(1, startedAt + dueMs - systemClock.monotonic());
    await sleep(systemClock, waitMs, over);
    const frame = source.frame();
    const text = JSON.stringify({ ...frame, at: '' });
    // A pipe may end just after a frame of all that it held.
    if (!over.aborted || text !== last) await show(frame);
    if (over.aborted) return;
    last = text;
  }
}

/** Aborts when nothing more is to come: the source has ended, the time is over, or the process was asked to end. */
export function endOf(source: EndingSource, durationMs: number | null, signal: AbortSignal): AbortSignal {
  const ending = new AbortController();
  const end = () => {
    timer?.cancel();
    ending.abort();
  };
  const timer = durationMs === null ? null : systemClock.timer(durationMs, end);
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  void source.ended?.then(end);
  return ending.signal;
}
