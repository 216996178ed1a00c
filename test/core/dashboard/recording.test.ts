import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { unknownFigures } from '../../../src/core/dashboard/feed.js';
import type { Frame } from '../../../src/core/dashboard/frame.js';
import { RecordedSource } from '../../../src/core/dashboard/recording/record.js';
import { ReplaySource } from '../../../src/core/dashboard/recording/replay.js';
import type { DashboardSource } from '../../../src/core/dashboard/source.js';
import { systemClock } from '../../../src/core/model/clock.js';
import { until } from '../../support/until.js';

const folder = mkdtempSync(path.join(tmpdir(), 'lbctl-recording-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const fresh = () => path.join(folder, `${++files}.ndjson`);

function frame(atMs: number, of: Partial<Frame> = {}): Frame {
  const registered = { id: 'a:1', address: 'a:1', name: '1', state: 'up', weight: 2, zone: 'z', share: 1 } as const;
  return {
    at: new Date(atMs).toISOString(),
    ...{ service: 'shop.rpc', context: 'here', policy: 'p2c_ewma', source: 'probe', observers: null, view: null },
    ...{ staleForMs: 1500, skew: 1.25, notices: ['careful'], detail: null },
    rows: [
      {
        ...unknownFigures,
        ...registered,
        callsPerSecond: 2.5,
        codes: { OK: 3 },
        lease: { remainingSeconds: 4, ttlSeconds: 10 },
        pause: null,
      },
    ],
    ...of,
  };
}

function source(): DashboardSource & { closed: boolean } {
  return {
    closed: false,
    frame: () => frame(systemClock.now()),
    onNews: () => () => {},
    look: () => {},
    views: () => [],
    select: () => {},
    async close() {
      this.closed = true;
    },
  };
}
const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').slice(0, -1);

describe('a recording', () => {
  test('is a header and a frame an interval, and is appended to, also behind a line that was cut', async () => {
    const file = fresh();
    const first = source();
    const recorded = await RecordedSource.open(file, first, 50, systemClock);
    await until(() => linesOf(file).length >= 4, 5000, 'three frames');
    await recorded.close();
    await recorded.close();
    expect(first.closed).toBe(true);
    expect(JSON.parse(linesOf(file)[0] ?? '')).toEqual({ format: 'lbctl-dashboard', version: 1 });
    expect(JSON.parse(linesOf(file)[1] ?? '')).toMatchObject({ service: 'shop.rpc', rows: [{ id: 'a:1' }] });
    const before = linesOf(file).length;
    appendFileSync(file, '{"at":"2026-');
    const again = await RecordedSource.open(file, source(), 50, systemClock);
    await again.close();
    expect(linesOf(file)).toHaveLength(before + 3);
    expect(JSON.parse(linesOf(file)[before + 1] ?? '')).toMatchObject({ format: 'lbctl-dashboard' });
  });

  test('is not written over what is none', async () => {
    const file = fresh();
    writeFileSync(file, 'precious\n');
    const failed = RecordedSource.open(file, source(), 50, systemClock);
    await expect(failed).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('nothing was written'),
    });
    expect(readFileSync(file, 'utf8')).toBe('precious\n');
    await expect(RecordedSource.open(folder, source(), 50, systemClock)).rejects.toMatchObject({ code: 'USAGE' });
  });
});

const header = '{"format":"lbctl-dashboard","version":1}';
function write(...lines: string[]): string {
  const file = fresh();
  writeFileSync(file, lines.join('\n'));
  return file;
}
const json = (of: Frame) => JSON.stringify(of);

describe('a replay', () => {
  test('shows the frames as they were, at their own pace', async () => {
    const frames = [0, 200, 400].map((ms) => frame(1_700_000_000_000 + ms, { skew: ms }));
    const replay = await ReplaySource.open(write(header, ...frames.map(json), ''), systemClock);
    const seen: [skew: number | null, atMs: number][] = [];
    const startedAt = performance.now();
    replay.onNews(() => seen.push([replay.frame().skew, performance.now() - startedAt]));
    expect(replay.frame()).toEqual(frames[0]);
    await replay.ended;
    expect(replay.frame()).toEqual(frames[2]);
    expect(seen.map(([skew]) => skew)).toEqual([200, 400]);
    expect(seen[0]?.[1]).toBeGreaterThan(180);
    expect(seen[1]?.[1]).toBeGreaterThan(380);
  });

  test('does not wait for the days between two sessions', async () => {
    const [one, two] = [frame(0, { skew: 1 }), frame(1_700_000_000_000, { skew: 2 })];
    const replay = await ReplaySource.open(write(header, json(one), header, json(two), ''), systemClock);
    await replay.ended;
    expect(replay.frame().skew).toBe(2);
  });

  test('takes a last line that was cut for the end, and says what is damaged before it', async () => {
    const [one, two] = [frame(0), frame(10, { skew: 2 })];
    const cut = await ReplaySource.open(write(header, json(one), json(two), json(two).slice(0, 50)), systemClock);
    await cut.ended;
    expect(cut.frame()).toEqual(two);
    const damaged = await ReplaySource.open(write(header, json(one), '{"at":', json(two), ''), systemClock);
    await damaged.ended;
    expect(damaged.frame().notices).toEqual(['careful', '1 line of the recording could not be read, and left out']);
  });

  test('goes to its end at once when it is asked to', async () => {
    const frames = [0, 3_600_000, 7_200_000].map((ms) => frame(ms, { skew: ms }));
    const replay = await ReplaySource.open(write(header, ...frames.map(json), ''), systemClock);
    replay.hurry();
    await replay.ended;
    expect(replay.frame()).toEqual(frames[2]);
  });

  test('ends at once when it is closed', async () => {
    const replay = await ReplaySource.open(write(header, json(frame(0)), json(frame(3_600_000)), ''), systemClock);
    await replay.close();
    await replay.ended;
  });

  test.each([
    ['another file', () => write('precious', '')],
    ['another version', () => write('{"format":"lbctl-dashboard","version":2}', json(frame(0)))],
    ['an empty file', () => write('')],
    ['no frame', () => write(header, '')],
    ['no file', () => path.join(folder, 'nowhere')],
    ['a directory', () => folder],
  ])('of %s is refused', async (_, file) => {
    await expect(ReplaySource.open(file(), systemClock)).rejects.toMatchObject({ code: 'USAGE' });
  });
});
