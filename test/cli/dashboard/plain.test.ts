import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { EndingSource } from '../../../src/cli/dashboard/open.js';
import { printFrames } from '../../../src/cli/dashboard/plain.js';
import { plainStyle } from '../../../src/cli/output/colour.js';
import type { Frame } from '../../../src/core/dashboard/frame.js';
import { ReplaySource } from '../../../src/core/dashboard/recording/replay.js';
import { systemClock } from '../../../src/core/model/clock.js';
import { SyntheticSource, syntheticFrame, syntheticRow } from '../../support/synthetic-dashboard.js';

const folder = mkdtempSync(path.join(tmpdir(), 'lbctl-plain-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Printed {
  readonly frame: Frame;
  readonly afterMs: number;
}

async function printed(
  source: EndingSource,
  intervalMs: number,
  durationMs: number | null = null,
): Promise<readonly Printed[]> {
  const frames: Printed[] = [];
  const startedAt = performance.now();
  const print = (text: string) => frames.push({ frame: JSON.parse(text), afterMs: performance.now() - startedAt });
  const view = { style: plainStyle, width: undefined, wide: false, nowMs: 0 };
  const { signal } = new AbortController();
  await printFrames(source, { intervalMs, durationMs, isNdjson: true, view, signal, print });
  await source.close();
  return frames;
}

describe('a recording is printed', () => {
  const startMs = Date.parse('2026-01-02T03:04:05.000Z');
  function recorded(...atMs: number[]): string {
    const file = path.join(folder, 'frames');
    const frames = atMs.map((ms, index) =>
      syntheticFrame([syntheticRow(0)], { at: new Date(startMs + ms).toISOString(), skew: index }),
    );
    const lines = ['{"format":"lbctl-dashboard","version":1}', ...frames.map((frame) => JSON.stringify(frame))];
    writeFileSync(file, `${lines.join('\n')}\n`);
    return file;
  }

  test.each([50, 60_000])(
    'frame by frame, each once and at its own time, whatever the interval (%i ms)',
    async (ms) => {
      const source = await ReplaySource.open(recorded(0, 7, 7, 20, 300), systemClock);
      const frames = await printed(source, ms);
      expect(frames.map(({ frame }) => frame.skew)).toEqual([0, 1, 2, 3, 4]);
      expect(frames[3]?.afterMs).toBeLessThan(250);
      expect(frames[4]?.afterMs).toBeGreaterThan(280);
    },
  );

  test('until the time is over', async () => {
    const source = await ReplaySource.open(recorded(0, 10, 3_600_000), systemClock);
    expect((await printed(source, 1000, 300)).map(({ frame }) => frame.skew)).toEqual([0, 1]);
  });
});

describe('a live source is printed', () => {
  test.each([
    [100, 300, 3],
    [100, 320, 3],
    [1000, 100, 1],
  ])('every %i ms for %i ms, and the end is no frame beside the last one', async (intervalMs, durationMs, count) => {
    const frames = await printed(new SyntheticSource(), intervalMs, durationMs);
    expect(frames).toHaveLength(count);
    expect(frames.at(-1)?.afterMs).toBeGreaterThanOrEqual(durationMs - 5);
  });

  test('to its end, which says nothing that was just said', async () => {
    const frame = syntheticFrame([syntheticRow(0)]);
    let asked = 0;
    let end = () => {};
    const source: EndingSource = Object.assign(new SyntheticSource(), {
      ended: new Promise<void>((resolve) => (end = resolve)),
      frame: () => {
        if (++asked === 2) end();
        return { ...frame, at: new Date().toISOString(), skew: asked > 1 ? 2 : 1 };
      },
    });
    expect((await printed(source, 50)).map((one) => one.frame.skew)).toEqual([1, 2]);
  });
});
