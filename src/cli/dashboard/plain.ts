import { sleep, systemClock } from '../../core/model/clock.js';
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

/** A frame every interval, as text or as a line of JSON, and a last one at the end. */
export async function printFrames(source: EndingSource, options: PlainOptions): Promise<void> {
  const { intervalMs, durationMs, isNdjson, view, signal, print } = options;
  const startedAt = systemClock.monotonic();
  const over = endOf(source, durationMs, signal);
  let isFirst = true;
  for (let count = 1; ; count++) {
    // From the start, not from the last one: a late frame makes the next no later.
    await sleep(systemClock, Math.max(1, startedAt + count * intervalMs - systemClock.monotonic()), over);
    if (signal.aborted) return;
    const frame = source.frame();
    if (isNdjson) print(`${toJson(document(frame), 0)}\n`);
    else print(`${isFirst ? '' : '\n'}${await frameText(frame, view)}`);
    isFirst = false;
    if (over.aborted) return;
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
