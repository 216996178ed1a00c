import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run, start } from '../support/cli.js';
import { type DevRegistry, startDevRegistry } from '../support/dev-registry.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
let registry: DevRegistry;

beforeAll(async () => {
  registry = await startDevRegistry();
  await registry.put({ 'user.rpc/1': '10.0.0.1:8080', 'user.rpc/2': '10.0.0.2:8080' });
});
afterAll(() => registry.close());

/** A line of shell in which `lbctl` is the built command line, as a user writes it. */
function shell(line: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const script = `lbctl() { "${process.execPath}" bin/run.js "$@"; }\n${line}`;
    const child = spawn('/bin/bash', ['-c', script], { cwd: root, env: { ...process.env, ...registry.env } });
    const text = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => {
      text.stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      text.stderr += chunk;
    });
    const limit = setTimeout(() => child.kill('SIGKILL'), 60_000);
    child.on('close', (code) => {
      clearTimeout(limit);
      resolve({ code, ...text });
    });
  });
}

test('--version and -v say the version', async () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const flag of ['--version', '-v']) {
    expect(await run([flag])).toEqual({
      code: 0,
      stdout: `lbctl/${version} ${process.platform}-${process.arch} node-${process.version}\n`,
      stderr: '',
    });
  }
});

test('no verb, help and --help show help', async () => {
  for (const args of [[], ['help'], ['--help'], ['-h']]) {
    const { code, stdout } = await run(args);
    expect({ args, code }).toEqual({ args, code: 0 });
    expect(stdout).toContain('COMMANDS');
  }
  const { stdout } = await run(['help', 'watch']);
  expect(stdout).toContain('--exec');
});

test.each([
  [['lsit'], 'Did you mean lbctl list?'],
  [['--json', 'list'], 'A verb comes first'],
  [['list', '--nope'], 'Nonexistent flag: --nope'],
  [['list', 'a', 'b'], 'Unexpected argument: b'],
  [['watch'], 'Missing 1 required arg'],
  [['list', '-o', 'xml'], 'Expected --output=xml to be one of'],
  [['list', '--json', '-o', 'yaml'], 'two formats'],
  [['watch', 'a', '--debounce', '2s:1s', '--exec', 'true'], 'min:max'],
  [['list', '--endpoints', 'localhost'], 'port is missing'],
])('%j is a usage error, with and without --json', async (args, text) => {
  const plain = await run(args);
  expect(plain).toMatchObject({ code: 2, stdout: '' });
  expect(plain.stderr).toContain(text);
  const json = await run([...args, '--json']);
  expect(json).toMatchObject({ code: 2, stdout: '' });
  const { schemaVersion, error } = JSON.parse(json.stderr);
  expect({ schemaVersion, code: error.code, exitCode: error.exitCode }).toEqual({
    schemaVersion: 1,
    code: 'USAGE',
    exitCode: 2,
  });
});

test('nobody there: exit 4 soon, with and without --json', async () => {
  const args = ['list', '--endpoints', '127.0.0.1:1', '--dial-timeout', '500ms', '--command-timeout', '1s'];
  const plain = await run(args);
  expect(plain).toMatchObject({ code: 4, stdout: '' });
  const json = await run([...args, '--json']);
  expect(json.code).toBe(4);
  expect(JSON.parse(json.stderr).error).toMatchObject({ code: 'ETCD_UNREACHABLE', exitCode: 4 });
});

test('watch | head -1 ends, and watch with exit 0', async () => {
  // A busy machine may schedule head so late that the whole snapshot is in the pipe: then the next event ends it.
  const events = setInterval(() => void registry.put({ 'user.rpc/2': `10.0.0.2:${8080 + (Date.now() % 100)}` }), 2000);
  try {
    const { stdout, stderr } = await shell('(lbctl watch user.rpc; echo "watch ended with $?" >&2) | head -1');
    expect(stdout.trim().split('\n')).toHaveLength(1);
    expect(stderr).toContain('watch ended with 0');
  } finally {
    clearInterval(events);
    await registry.put({ 'user.rpc/2': '10.0.0.2:8080' });
  }
});

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends a watch promptly, with 128 + n', async (signal) => {
  const watch = start(['watch', 'user.rpc'], { env: registry.env });
  await watch.waitFor('SYNCED');
  const asked = performance.now();
  watch.child.kill(signal);
  expect((await watch.ended).code).toBe(signal === 'SIGINT' ? 130 : 143);
  expect(performance.now() - asked).toBeLessThan(1000);
});

test('SIGINT ends a call to a silent port promptly', async () => {
  const { createServer } = await import('node:net');
  const silent = createServer(() => {});
  const port = await new Promise<number>((resolve) => {
    silent.listen(0, '127.0.0.1', () => {
      const address = silent.address();
      resolve(typeof address === 'object' ? (address?.port ?? 0) : 0);
    });
  });
  try {
    const connected = new Promise((resolve) => silent.once('connection', resolve));
    const list = start([
      'list',
      '--endpoints',
      `127.0.0.1:${port}`,
      '--command-timeout',
      '20s',
      '--dial-timeout',
      '20s',
    ]);
    await connected;
    const asked = performance.now();
    list.child.kill('SIGINT');
    expect((await list.ended).code).toBe(130);
    expect(performance.now() - asked).toBeLessThan(3500);
  } finally {
    silent.close();
  }
});

test('stdin and stdout may be closed, HOME may be missing, the terminal may be dumb', async () => {
  const expected = (await shell('lbctl list user.rpc -o address')).stdout;
  expect(expected).toBe('10.0.0.1:8080\n10.0.0.2:8080\n');
  for (const line of [
    'lbctl list user.rpc -o address <&-',
    'lbctl list user.rpc -o address </dev/null',
    'HOME= lbctl list user.rpc -o address',
    'unset HOME; lbctl list user.rpc -o address',
    'HOME=/nonexistent lbctl list user.rpc -o address',
    'TERM=dumb lbctl list user.rpc -o address',
    'echo order.rpc | lbctl list user.rpc -o address',
  ]) {
    expect({ line, ...(await shell(line)) }).toEqual({ line, code: 0, stdout: expected, stderr: '' });
  }
  expect(await shell('lbctl list user.rpc >&-')).toMatchObject({ code: 0, stderr: '' });
  expect(await shell('lbctl list user.rpc >/dev/full')).toMatchObject({ code: 1 });
});

test('what comes on stdin is never taken for a service name', async () => {
  const { code, stdout } = await run(['list'], { env: registry.env, stdin: 'nothing.rpc\n' });
  expect({ code, hasServices: stdout.includes('user.rpc') }).toEqual({ code: 0, hasServices: true });
});

test('colour is for terminals, or for who asks', async () => {
  const esc = '\u001b[';
  expect((await run(['list', 'user.rpc'], { env: registry.env })).stdout).not.toContain(esc);
  const forced = { ...registry.env, FORCE_COLOR: '1' };
  expect((await run(['list', 'user.rpc'], { env: forced })).stdout).toContain(esc);
  expect((await run(['list', 'user.rpc'], { env: { ...forced, NO_COLOR: '1' } })).stdout).not.toContain(esc);
});

test('on a terminal of 60 columns no line is wider', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lbctl-terminal-'));
  try {
    // script(1) gives it a terminal.
    const inside = `stty cols 60; "${process.execPath}" bin/run.js list user.rpc`;
    await shell(`script -qec '${inside}' ${join(folder, 'typescript')} </dev/null >/dev/null`);
    const lines = readFileSync(join(folder, 'typescript'), 'utf8')
      .replace(/\u001b\[[0-9;]*m/g, '')
      .split(/\r?\n/)
      .filter((line) => /^(ADDRESS|10\.)/.test(line));
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a password in the arguments is taken with a warning and shown nowhere', async () => {
  const { stdout, stderr } = await run(['list', '--user', 'root:hunter2', '--command-timeout', '2s'], {
    env: registry.env,
  });
  expect(stderr).toContain('Warning');
  expect(stdout + stderr).not.toContain('hunter2');
});

test('under --json warnings are JSON as well, so that all of stderr parses', async () => {
  const { stderr } = await run(['list', '--json', '--user', 'root:hunter2', '--command-timeout', '2s'], {
    env: { LBCTL_ENDPOINTS: '127.0.0.1:1' },
  });
  const firstEnd = stderr.indexOf('\n');
  expect(JSON.parse(stderr.slice(0, firstEnd))).toEqual({
    schemaVersion: 1,
    message: expect.stringContaining('Warning'),
  });
  expect(JSON.parse(stderr.slice(firstEnd)).error).toMatchObject({ code: 'ETCD_UNREACHABLE', exitCode: 4 });
});
