/** A masked go-zero server while etcd is away: each test has an etcd of its own. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { until } from '../../support/until.js';
import { cameBack, failedOf, maskOf, Scene } from '../support/scene.js';

const program = 'gozero-1.10.3';

export const maskedInOutages = () =>
  describe('a masked go-zero server and an etcd that goes away', () => {
    async function maskedFleet(service: string, whenDone: (close: () => Promise<void>) => void) {
      const scene = await Scene.open();
      whenDone(() => scene.close());
      const servers = await scene.servers(program, service, 3);
      const client = await scene.client(program, service, { rps: 40 });
      await until(() => client.calls.length > 20, 10_000, 'calls');
      const [target] = servers;
      if (!target) throw new Error('no server');
      expect((await scene.lbctl('pause', service, target.address, '--strategy', 'mask')).code).toBe(0);
      return { scene, client, target, before: await scene.keyOf(service, target.address) };
    }

    test('killed for 3 s: it stays masked, and no call fails', async ({ onTestFinished }) => {
      const { scene, client, target, before } = await maskedFleet('restart', onTestFinished);
      await scene.etcd.kill();
      await sleep(3000);
      await scene.etcd.restart();
      await target.counts({ reset: true });
      // Longer than the lease lives without its owner.
      await sleep(12_000);
      expect(await scene.keyOf('restart', target.address)).toEqual(before);
      expect(before?.value.toString()).toBe(maskOf(target.address));
      expect((await target.counts()).calls).toBe(0);
      expect(failedOf(client.calls)).toEqual([]);
      expect(await scene.list('restart')).toContainEqual(
        expect.objectContaining({ address: target.address, admin: 'paused' }),
      );
    });

    test('away for longer than the lease: it came back under a new key, which list says', async ({
      onTestFinished,
    }) => {
      const { scene, target, before } = await maskedFleet('away', onTestFinished);
      await scene.etcd.kill();
      await sleep(14_000);
      await scene.etcd.restart();
      const listed = await cameBack(scene, 'away', target.address);
      expect(listed).toMatchObject({ address: target.address, admin: 'up', pause: { cameBack: true } });
      expect(listed?.key).not.toBe(before?.key);
    });
  });
