import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Live, start } from '../support/cli.js';
import { type DevRegistry, startDevRegistry } from '../support/dev-registry.js';
import { isAlive } from '../support/is-alive.js';

let registry: DevRegistry;
beforeAll(async () => {
  registry = await startDevRegistry();
});
afterAll(() => registry.close());

interface Line {
  readonly type: string;
  readonly address: string | null;
  readonly cause: string;
  readonly revision: string;
}

function lines(watch: Live): Line[] {
  return watch
    .stdout()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

async function end(watch: Live): Promise<number> {
  watch.child.kill('SIGINT');
  return (await watch.ended).code;
}

test('watch tells the snapshot, then every change with its cause, by rising revision', async () => {
  await registry.put({ 'a.rpc/1': 'a:1' });
  const watch = start(['watch', 'a.rpc', '--json'], { env: registry.env });
  await watch.waitFor('"SYNCED"');
  const lease = await registry.etcd.grantLease(60);
  await registry.put({ 'a.rpc/2': 'b:1' }, lease);
  await registry.put({ 'a.rpc/1': 'c:1' });
  await registry.remove('a.rpc/1');
  await registry.etcd.revokeLease(lease);
  await watch.waitFor(/revoked/);
  const all = lines(watch);
  expect(all.map(({ type, address, cause }) => [type, address, cause])).toEqual([
    ['SNAPSHOT', 'a:1', expect.any(String)],
    ['SYNCED', null, expect.any(String)],
    ['ADDED', 'b:1', 'registered'],
    ['CHANGED', 'c:1', 'value changed a:1 -> c:1'],
    ['REMOVED', 'c:1', 'deleted'],
    ['REMOVED', 'b:1', 'expired or revoked'],
  ]);
  const revisions = all.map((line) => Number(line.revision));
  expect(revisions).toEqual([...revisions].sort((a, b) => a - b));
  expect(await end(watch)).toBe(130);
});

test('a watch of a service that does not exist waits for it', async () => {
  const watch = start(['watch', 'later.rpc'], { env: registry.env });
  await watch.waitFor('SYNCED');
  await registry.put({ 'later.rpc/1': 'a:1' });
  await watch.waitFor(/\d\d:\d\d:\d\d\.\d{3} {2}\+ a:1 {2}registered {2}\(1 up\)\n/);
  await end(watch);
});

test('--once ends with 0 after the snapshot', async () => {
  await registry.put({ 'once.rpc/1': 'a:1' });
  const { code, stdout } = await start(['watch', 'once.rpc', '--once'], { env: registry.env }).ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/= a:1 .*\n.*SYNCED.*\n$/);
});

test('--exec runs on change with the new set, and not for the snapshot unless asked', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'lbctl-exec-'));
  try {
    await registry.put({ 'exec.rpc/1': 'a:1' });
    for (const initial of [false, true]) {
      const log = join(folder, `log-${initial}`);
      const args = ['watch', 'exec.rpc', '--exec', `cat >> ${log}`, '--debounce', '20ms:1s', '--json'];
      const watch = start(initial ? [...args, '--exec-initial'] : args, { env: registry.env });
      await watch.waitFor('"SYNCED"');
      const runs = (): Array<{ instances: Array<{ address: string }> }> => {
        try {
          return readFileSync(log, 'utf8')
            .split(/(?<=^\})\n/m)
            .filter((text) => text !== '')
            .map((text) => JSON.parse(text));
        } catch {
          return [];
        }
      };
      const addresses = () => runs().map((set) => set.instances.map((entry) => entry.address));
      if (initial) await expect.poll(addresses, { timeout: 10_000 }).toEqual([['a:1']]);
      await registry.put({ 'exec.rpc/2': 'b:1' });
      await expect.poll(addresses, { timeout: 10_000 }).toEqual(initial ? [['a:1'], ['a:1', 'b:1']] : [['a:1', 'b:1']]);
      expect(runs().at(-1)).toMatchObject({ schemaVersion: 1, service: 'exec.rpc' });
      await registry.remove('exec.rpc/2');
      await watch.waitFor('"REMOVED"');
      await end(watch);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('Ctrl-C leaves no command behind', async () => {
  const watch = start(
    ['watch', 'exec.rpc', '--exec', 'sleep 300 & echo pid $$ and $! >&2; wait', '--exec-initial', '--debounce', '0'],
    { env: registry.env },
  );
  const [, pid, child] = await watch.waitFor(/pid (\d+) and (\d+)/, { stream: 'stderr' });
  expect(await end(watch)).toBe(130);
  expect(isAlive(Number(pid))).toBe(false);
  expect(isAlive(Number(child))).toBe(false);
});

test('etcd goes away and comes back empty: STALE, then the truth', async () => {
  const own = await startDevRegistry();
  await own.put({ 'b.rpc/1': 'a:1', 'b.rpc/2': 'b:1' });
  const watch = start(['watch', 'b.rpc', '--json'], { env: own.env });
  await watch.waitFor('"SYNCED"');
  await own.close();
  await watch.waitFor('"STALE"');
  const again = start(['dev', '--listen', own.endpoint.replace('http://', '')]);
  try {
    await again.waitFor('http://');
    await watch.waitFor(/"REMOVED"[^\n]*\n[^\n]*"REMOVED"/);
    const types = lines(watch).map((line) => line.type);
    expect(types).toContain('RESYNC');
    expect(types).toContain('LIVE');
  } finally {
    await end(watch);
    again.child.kill('SIGTERM');
    await again.ended;
  }
});
