import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { exitCodeOf } from '../../src/cli/wrapped-command/exit-status.js';
import { groupIsAlive, signalGroup } from '../../src/cli/wrapped-command/process-group.js';
import { WrappedCommand } from '../../src/cli/wrapped-command/wrapped-command.js';
import { systemClock } from '../../src/core/model/clock.js';

let folder: string;
const groups: number[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lbctl-wrapped-'));
});
afterEach(() => {
  for (const group of groups.splice(0)) signalGroup(group, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const file = (name: string) => join(folder, name);
const text = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), 'utf8') : '');
const appears = (name: string, content = '') =>
  vi.waitFor(() => expect(text(name)).toContain(content || '\n'), { timeout: 15_000, interval: 10 });
const gone = (group: number) =>
  vi.waitFor(() => expect(groupIsAlive(group)).toBe(false), { timeout: 15_000, interval: 10 });

async function start(script: string, killAfterMs = 5000): Promise<WrappedCommand> {
  const command = await WrappedCommand.start(['sh', '-c', `cd ${folder}; ${script}`], {
    clock: systemClock,
    killAfterMs,
    onUnguarded: (error) => {
      throw error;
    },
  });
  groups.push(command.pid);
  return command;
}

async function failure(...command: string[]): Promise<unknown> {
  return WrappedCommand.start(command, { clock: systemClock, killAfterMs: 1000, onUnguarded: () => undefined }).then(
    () => 'started',
    (error) => error.code,
  );
}

describe('how a wrapped command ends', () => {
  it.each([
    ['exit 0', 0],
    ['exit 42', 42],
    ['kill -KILL $$', 137],
    ['kill -TERM $$', 143],
    ['kill -INT $$', 130],
  ])('%s gives exit code %d', async (script, code) => {
    const command = await start(script);
    expect(exitCodeOf(await command.ended)).toBe(code);
    await command.stop('SIGTERM');
  });

  it('tells a command that is not there from one that may not be run', async () => {
    writeFileSync(file('script'), '#!/bin/sh\n');
    expect(await failure(file('nothing'))).toBe('COMMAND_NOT_FOUND');
    expect(await failure('no-such-command-anywhere')).toBe('COMMAND_NOT_FOUND');
    expect(await failure(file('script'))).toBe('COMMAND_NOT_EXECUTABLE');
    expect(await failure(folder)).toBe('COMMAND_NOT_EXECUTABLE');
    chmodSync(file('script'), 0o755);
    writeFileSync(file('script'), '#!/no/such/interpreter\n');
    expect(await failure(file('script'))).toBe('COMMAND_NOT_FOUND');
    expect(await failure('true', 'a\0b')).toBe('WRAPPER_FAILED');
  });
});

describe('stop', () => {
  it('passes on the very signal, and the command has the last word about its exit code', async () => {
    const command = await start(`trap 'exit 7' USR2; echo up > up; while :; do sleep 0.02; done`);
    await appears('up');
    expect(exitCodeOf(await command.stop('SIGUSR2'))).toBe(7);
  });

  it('waits for a command that needs time to finish', async () => {
    const command = await start(
      `trap 'sleep 0.3; echo finished > done; exit 0' TERM; echo up > up; while :; do sleep 0.02; done`,
    );
    await appears('up');
    expect(exitCodeOf(await command.stop('SIGTERM'))).toBe(0);
    expect(text('done')).toBe('finished\n');
  });

  it('kills after killAfterMs what does not end, its children too', async () => {
    const command = await start(`trap '' TERM; (trap '' TERM; sleep 100) & echo up > up; wait; sleep 100`, 200);
    await appears('up');
    const before = performance.now();
    expect(exitCodeOf(await command.stop('SIGTERM'))).toBe(137);
    expect(performance.now() - before).toBeGreaterThanOrEqual(190);
    expect(groupIsAlive(command.pid)).toBe(false);
  });

  it('wakes a command that was stopped with SIGSTOP, which would not see the signal', async () => {
    const command = await start(`trap 'exit 3' TERM; echo up > up; while :; do sleep 0.02; done`);
    await appears('up');
    command.signal('SIGSTOP');
    expect(exitCodeOf(await command.stop('SIGTERM'))).toBe(3);
  });

  it('after the command was killed its children end as well', async () => {
    const command = await start(`sleep 100 & sleep 100 & echo up > up; wait`);
    await appears('up');
    process.kill(command.pid, 'SIGKILL');
    expect(exitCodeOf(await command.ended)).toBe(137);
    expect(groupIsAlive(command.pid)).toBe(true);
    await command.stop('SIGTERM');
    expect(groupIsAlive(command.pid)).toBe(false);
  });

  it('kill() ends the wait', async () => {
    const command = await start(`trap '' TERM; echo up > up; while :; do sleep 0.02; done`, 60_000);
    await appears('up');
    const ending = command.stop('SIGTERM');
    command.kill();
    expect(exitCodeOf(await ending)).toBe(137);
  });
});

describe('after the wrapper itself was killed with SIGKILL', () => {
  /** A wrapper in a process of its own; resolves when its command runs, with the pid of wrapper and command. */
  async function wrapper(script: string, killAfterMs: number): Promise<{ process: ChildProcess; group: number }> {
    const fixture = fileURLToPath(new URL('../support/wrapper.ts', import.meta.url));
    const child = spawn(
      process.execPath,
      [
        '--import',
        'tsx',
        fixture,
        String(killAfterMs),
        'sh',
        '-c',
        `cd ${folder}; ${script}\necho $$ > pid; wait; sleep 100`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    await Promise.all([appears('pid'), once(child.stdout as Readable, 'data')]);
    const group = Number(text('pid'));
    groups.push(group);
    return { process: child, group };
  }

  it('the command and its children get SIGTERM and end', async () => {
    const { process: wrapping, group } = await wrapper(
      `trap 'echo asked > asked; exit' TERM; sleep 100 & sleep 100 &`,
      5000,
    );
    wrapping.kill('SIGKILL');
    await gone(group);
    expect(text('asked')).toBe('asked\n');
  });

  it('what ignores SIGTERM is killed', async () => {
    const { process: wrapping, group } = await wrapper(`trap '' TERM; sleep 100 &`, 300);
    wrapping.kill('SIGKILL');
    await gone(group);
  });
});

it('the watchdog leaves with the command: nothing of it stays behind', async () => {
  const watchdogs = () =>
    spawnSync('ps', ['-o', 'args=', '--ppid', String(process.pid)], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter((line) => line.includes('lbctl-watchdog')).length;
  const before = watchdogs();
  const command = await start('sleep 100');
  expect(watchdogs()).toBe(before + 1);
  await command.stop('SIGTERM');
  await vi.waitFor(() => expect(watchdogs()).toBe(before), { timeout: 15_000, interval: 10 });
});
