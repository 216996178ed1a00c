/** `--strategy delete`: what stays out and what is put back, as the server's framework has it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../support/until.js';
import type { Program } from '../support/programs.js';
import { busiest, failedOf, Scene } from '../support/scene.js';

export const deletedKeys = () =>
  describe('a deleted key', () => {
    let scene: Scene;
    beforeAll(async () => {
      scene = await Scene.open();
    });
    afterAll(() => scene?.close());

    const staysOut = [
      ['gozero-1.8.5', 'gozero-1.8.5'],
      ['gozero-1.8.5', 'gozero-1.10.3'],
      ['kratos', 'kratos'],
      ['naming', 'naming'],
    ] as const satisfies ReadonlyArray<readonly [Program, Program]>;

    test.each(staysOut)(
      'of a %s server, with a %s client: out while its lease lives, back at resume',
      async (of, seenBy) => {
        const service = `deleted-${of}-${seenBy}`;
        const servers = await scene.servers(of, service, 3, 20);
        const client = await scene.client(seenBy, service, { rps: 30 }, servers);
        const target = busiest(client, servers);
        const before = await scene.keyOf(service, target.address);
        const changes = await scene.changes(service, target.address);
        const { code, stderr } = await scene.lbctl('pause', service, target.address, '--strategy', 'delete');
        expect({ code, stderr }).toMatchObject({ code: 0 });
        const deletedAt = changes[0]?.at ?? 0;
        // Longer than the lease lives without its owner: kratos's is 15 s.
        await sleep(deletedAt + 18_000 - Date.now());
        expect(changes.map(({ type }) => type)).toEqual(['delete']);
        expect(client.lastTo(target.address) - deletedAt).toBeLessThan(300);
        expect((await scene.lbctl('resume', service, target.address)).code).toBe(0);
        await until(() => client.lastTo(target.address) > deletedAt + 18_000, 5000, 'calls to it again');
        const { key, value, lease } = (await scene.keyOf(service, target.address)) ?? {};
        expect({ key, value, lease }).toEqual({ key: before?.key, value: before?.value, lease: before?.lease });
        expect(failedOf(client.calls)).toEqual([]);
        await client.kill();
      },
    );

    test.each(['gozero-1.9.2', 'gozero-1.10.3'] as const)(
      'of a %s server is put back in milliseconds: exit 7, which says why and what to do',
      async (program) => {
        const service = `restored-${program}`;
        const [target] = await scene.servers(program, service, 2);
        const address = target?.address ?? '';
        const changes = await scene.changes(service, address);
        const { code, stderr } = await scene.lbctl('pause', service, address, '--strategy', 'delete');
        expect(code).toBe(7);
        expect(stderr).toContain(`${address} of ${service} was taken out (delete), and its owner registered it again`);
        expect(stderr).toContain('go-zero does from v1.9.0 on');
        expect(changes.slice(0, 2).map(({ type }) => type)).toEqual(['delete', 'put']);
        expect((changes[1]?.at ?? 0) - (changes[0]?.at ?? 0)).toBeLessThan(200);
        expect(await scene.list(service)).toContainEqual(expect.objectContaining({ address, admin: 'up' }));
      },
    );
  });
