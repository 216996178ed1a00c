/** Logs that are no ordinary files: real pipes, made by mkfifo. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LogFeed } from '../../../src/core/dashboard/log/log-feed.js';
import { systemClock } from '../../../src/core/model/clock.js';
import { until } from '../../support/until.js';

const withinMs = 5000;
const endings: (() => unknown)[] = [];
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'lbctl-log-'));
});
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
  rmSync(folder, { recursive: true });
});

const line = (address: string, load: number) =>
  `{"@timestamp":"${new Date().toISOString()}","content":"p2c - conn: ${address}, load: ${load}, reqs: 7","level":"stat"}\n`;

function fifo(name: string): string {
  const file = path.join(folder, name);
  execFileSync('mkfifo', [file]);
  return file;
}

function follow(...files: string[]): LogFeed {
  const feed = new LogFeed({ files, stdin: null }, systemClock);
  endings.push(() => feed.close());
  return feed;
}

test('a pipe that nobody writes to is waited for, holds up no other file, and is let go', async () => {
  const pipes = ['a', 'b', 'c', 'd', 'e'].map(fifo);
  const feed = follow(...pipes);
  await feed.caughtUp;
  expect(feed.notices()).toEqual(['no statistics line of go-zero yet: a client writes one a minute']);
  await feed.close();
  await feed.ended;
});

test('several pipes are read side by side, from one writer after the other', async () => {
  const [one, two] = [fifo('one'), fifo('two')];
  const feed = follow(one, two);
  await feed.caughtUp;
  const load = (address: string) => feed.figures().get(address)?.load;
  const [first, second] = [openSync(one, 'w'), openSync(two, 'w')];
  writeSync(first, line('10.0.0.1:80', 1000).slice(0, 50));
  writeSync(second, line('10.0.0.2:80', 2000));
  writeSync(first, line('10.0.0.1:80', 1000).slice(50));
  await until(() => load('10.0.0.1:80') === 1000 && load('10.0.0.2:80') === 2000, withinMs, 'both');
  expect(feed.notices()).toEqual([]);
  writeSync(first, 'a line without an end');
  closeSync(first);
  // For reading as well: it need not wait for a reader.
  const again = openSync(one, 'r+');
  endings.push(() => closeSync(again));
  writeSync(again, line('10.0.0.1:80', 3000));
  await until(() => load('10.0.0.1:80') === 3000, withinMs, 'the next writer');
  closeSync(second);
});

test('what leads to a descriptor of a shell is over when its writer has ended', async () => {
  const pipe = fifo('descriptor');
  const held = openSync(pipe, 'r+');
  const feed = follow(`/dev/fd/${held}`);
  await feed.caughtUp;
  writeSync(held, line('10.0.0.1:80', 1000));
  await until(() => feed.figures().size === 1, withinMs, 'the line');
  closeSync(held);
  await feed.ended;
  expect(feed.figures().get('10.0.0.1:80')?.load).toBe(1000);
});

test('a device has no positions', async () => {
  const feed = follow('/dev/null');
  await feed.caughtUp;
  expect(feed.notices()).toEqual(['no statistics line of go-zero yet: a client writes one a minute']);
});
