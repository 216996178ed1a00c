import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OnChange, parseDebounce } from '../../../src/cli/watch/on-change.js';
import { systemClock } from '../../../src/core/model/clock.js';
import { isAlive } from '../../support/is-alive.js';

let folder = '';
let log = '';
let told: string[] = [];
let runner: OnChange | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lbctl-on-change-'));
  log = join(folder, 'log');
  told = [];
});
afterEach(async () => {
  await runner?.close();
  rmSync(folder, { recursive: true });
});

function onChange(command: string, input: () => string, debounce = { minMs: 20, maxMs: 100 }): OnChange {
  runner = new OnChange({
    command,
    debounce,
    input,
    clock: systemClock,
    killAfterMs: 500,
    tell: (line) => told.push(line),
  });
  return runner;
}

function logged(): string[] {
  try {
    return readFileSync(log, 'utf8').trim().split('\n');
  } catch {
    return [];
  }
}

test('changes close together cost one run, which gets the newest set', async () => {
  let set = 0;
  const changes = onChange(`cat >> ${log}; echo >> ${log}`, () => `set ${set}`);
  for (set = 1; set < 5; set++) changes.changed();
  await expect.poll(logged).toEqual(['set 5']);
  changes.changed();
  await expect.poll(logged).toEqual(['set 5', 'set 5']);
});

test('changes that never stop are still told within the upper bound', async () => {
  const changes = onChange(`echo ran >> ${log}`, () => '', { minMs: 60, maxMs: 150 });
  const busy = setInterval(() => changes.changed(), 10);
  try {
    await expect.poll(logged, { timeout: 2000 }).toContain('ran');
  } finally {
    clearInterval(busy);
  }
});

test('a run that is still going is ended with everything it started, before the next begins', async () => {
  // The shell waits for a child of its own, which ignores SIGTERM: only SIGKILL to the group ends both.
  const changes = onChange(`sh -c 'trap "" TERM; echo $$ >> ${log}; while :; do sleep 1; done'; true`, () => '');
  changes.changed();
  await expect.poll(() => logged().length).toBe(1);
  const first = Number(logged()[0]);
  changes.changed();
  await expect.poll(() => logged().length, { timeout: 5000 }).toBe(2);
  expect(isAlive(first)).toBe(false);
  await changes.close();
  expect(isAlive(Number(logged()[1]))).toBe(false);
});

test('after close nothing is run', async () => {
  const changes = onChange(`echo ran >> ${log}`, () => '', { minMs: 0, maxMs: 0 });
  changes.changed();
  await changes.close();
  changes.changed();
  const another = onChange(`echo other >> ${log}`, () => '', { minMs: 30, maxMs: 30 });
  another.changed();
  await expect.poll(logged).toEqual(['other']);
});

test('a command that fails, or does not read its input, is told and does no harm', async () => {
  const changes = onChange('exit 3', () => 'x'.repeat(1_000_000));
  changes.changed();
  await expect.poll(() => told).toEqual(['exit 3 ended with exit code 3']);
});

test('the debounce is read as min:max', () => {
  expect(parseDebounce('200ms:2s')).toEqual({ minMs: 200, maxMs: 2000 });
  expect(parseDebounce('1s')).toEqual({ minMs: 1000, maxMs: 1000 });
  for (const bad of ['2s:1s', '1s:2s:3s', '', 'x', ':']) expect(() => parseDebounce(bad)).toThrow();
});
