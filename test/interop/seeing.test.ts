/** What others registered is seen as it is, and both sides call each other and agree on who owns a key. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startServerProcess } from '../support/grpc-server-process.js';
import { until } from '../support/until.js';
import { type GoServer, interop, type Program } from './support/programs.js';
import { failedOf, Scene } from './support/scene.js';

const proto = fileURLToPath(new URL('../fixtures/echo.proto', import.meta.url));
const say = ['--proto', proto, '--method', 'test.Echo/Say'];
const kinds = [
  { program: 'gozero-1.10.3', dialect: 'gozero', ttlSeconds: 10 },
  { program: 'gozero-1.9.2', dialect: 'gozero', ttlSeconds: 10 },
  { program: 'gozero-1.8.5', dialect: 'gozero', ttlSeconds: 10 },
  { program: 'kratos', dialect: 'kratos', ttlSeconds: 15 },
  { program: 'naming', dialect: 'endpoint', ttlSeconds: 10 },
] as const;
const policies = ['p2c_ewma', 'consistent_hash'] as const;

interface Node {
  readonly address: string;
  readonly calls: number;
}

interop('what others registered', () => {
  let scene: Scene;
  const fleets = new Map<Program, GoServer[]>();
  const addresses = (program: Program) => (fleets.get(program) ?? []).map(({ address }) => address).sort();

  beforeAll(async () => {
    scene = await Scene.open();
    await Promise.all(kinds.map(async ({ program }) => fleets.set(program, await scene.servers(program, program, 3))));
  });
  afterAll(() => scene?.close());

  test.concurrent.each(kinds)(
    '$program: list shows its instances, their layout and lease',
    async ({ program, dialect, ttlSeconds }) => {
      const listed = await scene.list(program);
      expect(listed.map(({ address }) => address).sort()).toEqual(addresses(program));
      for (const instance of listed) {
        expect(instance).toMatchObject({ dialect, admin: 'up', pause: null, lease: { ttlSeconds } });
        const key = await scene.keyOf(program, instance.address);
        expect({ key: instance.key, lease: instance.lease?.id }).toEqual({ key: key?.key, lease: String(key?.lease) });
      }
    },
  );

  test.concurrent.each(kinds)('$program: watch tells of one that comes and of one that stops', async ({ program }) => {
    const service = `${program}-watched`;
    await scene.server(program, service);
    const live = scene.start('watch', service, '-o', 'json');
    await live.waitFor('"type":"SYNCED"');
    const events = () =>
      live
        .stdout()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map(({ type, address }) => [type, address]);
    const newcomer = await scene.server(program, service);
    await until(() => events().some(([type]) => type === 'ADDED'), 5000, 'ADDED');
    expect(events().at(-1)).toEqual(['ADDED', newcomer.address]);
    await newcomer.terminate();
    await until(() => events().some(([type]) => type === 'REMOVED'), 5000, 'REMOVED');
    expect(events().at(-1)).toEqual(['REMOVED', newcomer.address]);
    live.kill();
  });

  test('both sides agree on the owner of 1,000 keys', async () => {
    const keys = Array.from({ length: 1000 }, (_, i) => `user:${i * 7919}`);
    const folder = mkdtempSync(join(tmpdir(), 'lbctl-keys-'));
    scene.onClose(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'keys');
    writeFileSync(file, keys.join('\n'));
    const service = 'gozero-1.10.3';
    const client = await scene.client(service, service, { rps: 0, policy: 'consistent_hash' });
    // The ring of a client that is still connecting holds only what it is connected to.
    await until(async () => new Set(await client.owners(keys.slice(0, 100))).size === 3, 10_000, 'three owners');
    const { stdout } = await scene.lbctl('pick', service, '--keys-file', file, '--json');
    const picked = JSON.parse(stdout).picks.map(({ address }: { address: string }) => address);
    expect(new Set(picked).size).toBe(3);
    expect(await client.owners(keys)).toEqual(picked);

    // And the real calls of ours: as many to each as the keys that it owns.
    const { stdout: called } = await scene.lbctl(
      'call',
      service,
      ...say,
      '--policy',
      'consistent_hash',
      '--key',
      'k{n}',
      '-n',
      '300',
      '--json',
    );
    const { errors, nodes } = JSON.parse(called);
    const theirs = await client.owners(Array.from({ length: 300 }, (_, i) => `k${i}`));
    expect(errors).toBe(0);
    for (const { address, calls } of nodes) {
      expect({ address, calls }).toEqual({ address, calls: theirs.filter((owner) => owner === address).length });
    }
  });

  test.each(kinds)(`our client calls $program under ${policies.join(' and ')}`, async ({ program }) => {
    const fleet = fleets.get(program) ?? [];
    for (const server of fleet) await server.counts({ reset: true });
    const under = ['--policy', policies.join(), '--key', 'user:{n}'];
    const { code, stdout } = await scene.lbctl('call', program, ...say, ...under, '-n', '200', '--json');
    const results: Array<{ policy: string; calls: number; errors: number; nodes: Node[] }> = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(results.map(({ policy, calls, errors }) => ({ policy, calls, errors }))).toEqual(
      policies.map((policy) => ({ policy, calls: 200, errors: 0 })),
    );
    const nodes = results.flatMap((result) => result.nodes);
    for (const { address, counts } of fleet) {
      const said = nodes.filter((node) => node.address === address).reduce((sum, { calls }) => sum + calls, 0);
      expect({ address, calls: said }).toEqual({ address, calls: (await counts()).calls });
    }
  });

  for (const policy of policies) {
    test(`a go-zero client calls what lbctl register registered, under ${policy}`, async () => {
      const service = `ours-${policy}`;
      const servers = await Promise.all([0, 1].map(() => startServerProcess()));
      for (const server of servers) {
        scene.onClose(() => server.kill());
        scene.start('register', service, server.address);
      }
      await until(async () => (await scene.keys(service)).length === 2, 20_000, 'the registrations');
      const client = await scene.client('gozero-1.10.3', service, { rps: 200, policy });
      await until(() => client.calls.length >= 400, 10_000, '400 calls');
      await client.kill();
      expect(failedOf(client.calls)).toEqual([]);
      for (const { address, counts } of servers) {
        expect((await counts()).calls).toBeGreaterThan(0);
        expect(client.calls.filter(({ server }) => server === address).length).toBeGreaterThan(0);
      }
    });
  }
});
