import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EtcdProcess, etcdctl, startEtcd } from '../support/etcd-process.js';

const fileOf = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

let etcd: EtcdProcess;
const started = new Set<ChildProcess>();
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(async () => {
  for (const child of started) child.kill('SIGKILL');
  await etcd.stop();
});

interface Program {
  readonly child: ChildProcess;
  /** The first line that it prints; rejects with what it printed when it ends before. */
  firstLine(): Promise<string>;
  ended(): Promise<{ readonly code: number | null; readonly output: string }>;
}

function launch(name: string, argument: string): Program {
  const child = spawn(process.execPath, [fileOf(`examples/${name}`), argument]);
  started.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const closed = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  void closed.then(() => started.delete(child));
  return {
    child,
    async firstLine() {
      const line = once(child.stdout, 'data').then(([chunk]) => String(chunk).trim());
      const early = closed.then(({ code }) => Promise.reject(new Error(`${name} ended with ${code}: ${output}`)));
      return Promise.race([line, early]);
    },
    ended: () => closed,
  };
}

const target = () => `etcd:///127.0.0.1:${etcd.port}?key=greet.rpc`;

async function answers(): Promise<string[]> {
  const { code, output } = await launch('client.mjs', target()).ended();
  const lines = output.trim().split('\n');
  expect({ code, output: lines.map((line) => line.replace(/, from .*/, '')) }).toEqual({
    code: 0,
    output: Array.from({ length: 10 }, (_, i) => `hello ann ${i + 1}`),
  });
  return [...new Set(lines.map((line) => line.replace(/.*, from /, '')))].sort();
}

test('servers register, a client calls both, and one that is told to end is called no more', async () => {
  const servers = [launch('server.mjs', etcd.endpoint), launch('server.mjs', etcd.endpoint)];
  const lines = await Promise.all(servers.map((server) => server.firstLine()));
  const addresses = lines.map((line) => /^(127\.0\.0\.1:\d+) serves greet\.rpc$/.exec(line)?.[1]);
  expect(await answers()).toEqual([...addresses].sort());

  servers[0]?.child.kill('SIGTERM');
  expect(await servers[0]?.ended()).toMatchObject({ code: 0 });
  expect((await etcdctl(etcd.endpoint, 'get', '--prefix', 'greet.rpc/', '--print-value-only')).trim()).toBe(
    addresses[1],
  );
  expect(await answers()).toEqual([addresses[1]]);

  servers[1]?.child.kill('SIGTERM');
  expect(await servers[1]?.ended()).toMatchObject({ code: 0 });
  expect(await etcdctl(etcd.endpoint, 'get', '--prefix', '', '--keys-only')).toBe('');
});

test.each(['server.mjs', 'client.mjs'])('the README shows %s as it is', (name) => {
  const shown = readFileSync(fileOf('README.md'), 'utf8').includes(readFileSync(fileOf(`examples/${name}`), 'utf8'));
  expect(shown).toBe(true);
});
