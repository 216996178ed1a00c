/** `--strategy auto` masks kratos servers and etcd naming servers by their own rules, seen by their own clients. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../support/until.js';
import { busiest, failedOf, firstTo, Scene } from '../support/scene.js';

const kinds = [
  {
    program: 'kratos',
    maskOf: (value: Record<string, unknown>, address: string) => ({
      ...value,
      endpoints: [],
      metadata: { 'lbctl.paused': JSON.stringify([`grpc://${address}`]) },
    }),
  },
  {
    program: 'naming',
    maskOf: (value: Record<string, unknown>, address: string) => ({ ...value, Addr: `lbctl-paused:${address}` }),
  },
] as const;

export const maskedByTheirRules = () =>
  describe('masked by its own rule', () => {
    let scene: Scene;
    beforeAll(async () => {
      scene = await Scene.open();
    });
    afterAll(() => scene?.close());

    test.each(kinds)('$program: left within 250 ms, no call fails, taken back at once', async ({ program, maskOf }) => {
      const service = `masked-${program}`;
      const servers = await scene.servers(program, service, 3, 100);
      const client = await scene.client(program, service, { rps: 100 }, servers);
      const target = busiest(client, servers);
      const before = await scene.keyOf(service, target.address);
      const changes = await scene.changes(service, target.address);
      const { code, stdout } = await scene.lbctl('pause', service, target.address, '--json');
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, instances: [{ strategy: 'mask' }] });
      const masked = changes[0];
      const value = JSON.parse(before?.value.toString() ?? '');
      expect(JSON.parse(masked?.value.toString() ?? '')).toEqual(maskOf(value, target.address));
      const maskedAt = masked?.at ?? 0;
      await sleep(maskedAt + 8000 - Date.now());
      expect(client.lastTo(target.address) - maskedAt).toBeLessThan(250);
      expect(await scene.list(service)).toContainEqual(
        expect.objectContaining({ address: target.address, admin: 'paused' }),
      );

      expect((await scene.lbctl('resume', service, target.address)).code).toBe(0);
      const resumedAt = changes.at(-1)?.at ?? 0;
      const firstSince = () => firstTo(client, target.address, maskedAt + 1000);
      await until(() => firstSince() < Number.POSITIVE_INFINITY, 5000, 'calls to it again');
      expect(firstSince() - resumedAt).toBeLessThan(250);
      expect((await scene.keyOf(service, target.address))?.value).toEqual(before?.value);
      expect(failedOf(client.calls)).toEqual([]);
      await client.kill();
    });
  });
