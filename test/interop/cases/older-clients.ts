/** What a mask does with go-zero clients older than v1.10.2: why `auto` does not choose it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServerProcess } from '../../support/grpc-server-process.js';
import { until } from '../../support/until.js';
import type { Program } from '../support/programs.js';
import { Scene } from '../support/scene.js';

export const olderClients = () =>
  describe('a masked go-zero server and older clients', () => {
    let scene: Scene;
    beforeAll(async () => {
      scene = await Scene.open();
    });
    afterAll(() => scene?.close());

    test('v1.8.5 and v1.9.2 go on calling it, and whoever listens at its address after it is gone', async () => {
      const service = 'older';
      const servers = await scene.servers('gozero-1.10.3', service, 3, 30);
      const [target] = servers;
      if (!target) return;
      const clientOf = (program: Program) => scene.client(program, service, { rps: 40 }, servers);
      const older = await Promise.all([clientOf('gozero-1.8.5'), clientOf('gozero-1.9.2')]);
      const newer = await clientOf('gozero-1.10.3');
      const changes = await scene.changes(service, target.address);
      // Nothing in etcd tells of it: the command sees the instance stay out there.
      expect((await scene.lbctl('pause', service, target.address, '--strategy', 'mask')).code).toBe(0);
      const maskedAt = changes[0]?.at ?? 0;
      await sleep(maskedAt + 4000 - Date.now());
      for (const client of older) expect(client.lastTo(target.address) - maskedAt).toBeGreaterThan(2000);
      expect(newer.lastTo(target.address) - maskedAt).toBeLessThan(300);

      await target.kill();
      await until(() => scene.soon(async () => !(await scene.keyOf(service, target.address))), 20_000, 'the key to go');
      const stranger = await startServerProcess({ port: Number(target.address.split(':')[1]) });
      scene.onClose(() => stranger.kill());
      const startedAt = Date.now();
      for (const client of older) {
        await until(
          () => client.lastTo(target.address) > startedAt,
          30_000,
          'calls to an address that nobody registered',
        );
      }
      expect(newer.lastTo(target.address) - maskedAt).toBeLessThan(300);
    });
  });
