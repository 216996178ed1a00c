/** `--strategy mask` of a go-zero server, seen by go-zero clients that honour it (v1.10.2 and newer). */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { etcdctl } from '../../support/etcd-process.js';
import { until } from '../../support/until.js';
import { busiest, cameBack, failedOf, hex, maskOf, Scene, textOf } from '../support/scene.js';

const program = 'gozero-1.10.3';
export const maskedServers = () =>
  describe('a masked go-zero server', () => {
    let scene: Scene;
    beforeAll(async () => {
      scene = await Scene.open();
    });
    afterAll(() => scene?.close());
    const pause = (service: string, address: string, ...more: string[]) =>
      scene.lbctl('pause', service, address, '--strategy', 'mask', ...more);

    test.each(['p2c_ewma', 'consistent_hash'] as const)(
      '%s at 200 rps with 800 ms calls in flight: left within 300 ms, no call fails, out for 60 s, back at resume',
      async (policy) => {
        const service = `masked-${policy}`;
        const servers = await scene.servers(program, service, 3, 800);
        const client = await scene.client(program, service, { rps: 200, policy }, servers);
        const target = busiest(client, servers);
        const before = await scene.keyOf(service, target.address);
        const changes = await scene.changes(service, target.address);
        const { code, stdout } = await pause(service, target.address, '--json');
        expect({ code, ...JSON.parse(stdout) }).toMatchObject({
          code: 0,
          outcome: 'done',
          instances: [{ address: target.address, state: 'paused', strategy: 'mask' }],
        });
        const maskedAt = changes[0]?.at ?? 0;
        expect(changes.map(textOf)).toEqual([maskOf(target.address)]);
        // --verify took longer than the calls that were in flight.
        const inFlight = client.calls.filter(({ server, at }) => server === target.address && at > maskedAt - 700);
        expect(inFlight.length).toBeGreaterThan(10);
        expect(client.lastTo(target.address) - maskedAt).toBeLessThan(300);
        expect(await scene.list(service)).toContainEqual(
          expect.objectContaining({ address: target.address, admin: 'paused', key: before?.key }),
        );

        for (const server of servers) await server.behave({ latencyMs: 0 });
        await target.counts({ reset: true });
        // What is left to see takes a minute, and no load.
        client.callAt(20);
        await sleep(maskedAt + 60_000 - Date.now());
        expect((await target.counts()).calls).toBe(0);
        const resumed = await scene.lbctl('resume', service, target.address);
        expect(resumed.code).toBe(0);
        await until(() => client.lastTo(target.address) > maskedAt + 60_000, 5000, 'calls to it again');
        expect(failedOf(client.calls)).toEqual([]);
        expect(client.calls.filter(({ at }) => at > maskedAt + 10_000).length).toBeGreaterThan(500);
        const { modRevision: _, ...restored } = (await scene.keyOf(service, target.address)) ?? {};
        expect({ ...before, ...restored }).toEqual(before);
        await client.kill();
      },
    );

    test.each(['terminate', 'kill'] as const)('%s while masked: no key is left', async (end) => {
      const service = `ends-${end}`;
      const [target, other] = await scene.servers(program, service, 2);
      if (!target || !other) return;
      expect((await pause(service, target.address, '--verify', '0')).code).toBe(0);
      await target[end]();
      await until(() => scene.soon(async () => !(await scene.keyOf(service, target.address))), 20_000, 'the key to go');
      const listed = (await scene.list(service)).filter(({ address }) => address === target.address);
      expect(listed).toMatchObject([{ admin: 'paused', lease: null, notes: ['OWNER-GONE'] }]);
      // The record of the pause goes with the next pause or resume, which says so.
      const { stderr } = await scene.lbctl('resume', service, other.address);
      expect(stderr).toContain(`${target.address} of ${service} is gone for good`);
      expect((await scene.list(service)).map(({ address }) => address)).not.toContain(target.address);
    });

    test('its lease is revoked: it comes back, list says so, and pausing it again masks the new key', async () => {
      const service = 'revoked';
      const [target] = await scene.servers(program, service, 2);
      if (!target) return;
      expect((await pause(service, target.address)).code).toBe(0);
      const before = await scene.keyOf(service, target.address);
      await etcdctl(scene.etcd.endpoint, 'lease', 'revoke', hex(before?.lease));
      expect(await cameBack(scene, service, target.address)).toMatchObject({
        address: target.address,
        admin: 'up',
        pause: { strategy: 'mask', cameBack: true },
      });
      expect((await scene.keyOf(service, target.address))?.key).not.toBe(before?.key);
      expect((await pause(service, target.address)).code).toBe(0);
      expect((await scene.keyOf(service, target.address))?.value.toString()).toBe(maskOf(target.address));
    });

    test('it comes back while the pause is verified: exit 7, which says what helps', async () => {
      const service = 'verified';
      const [target] = await scene.servers(program, service, 2);
      if (!target) return;
      const pausing = pause(service, target.address, '--verify', '30s');
      const changes = await scene.changes(service, target.address);
      await until(() => changes.length > 0, 10_000, 'the mask');
      await etcdctl(scene.etcd.endpoint, 'lease', 'revoke', hex(changes[0]?.lease));
      const { code, stderr } = await pausing;
      expect(code).toBe(7);
      expect(stderr).toContain(
        `${target.address} of ${service} was taken out (mask), and its owner registered it again`,
      );
      expect(stderr).toContain('--strategy mask --hold');
    });

    test('it comes back under --hold: masked again within 200 ms, which is said; Ctrl-C resumes', async () => {
      const service = 'held';
      const [target] = await scene.servers(program, service, 2);
      if (!target) return;
      const live = scene.start('pause', service, target.address, '--strategy', 'mask', '--hold');
      await live.waitFor('Holding', { stream: 'stderr' });
      const changes = await scene.changes(service, target.address);
      await etcdctl(scene.etcd.endpoint, 'lease', 'revoke', hex((await scene.keyOf(service, target.address))?.lease));
      await until(() => textOf(changes.at(-1)) === maskOf(target.address), 20_000, 'the mask of the new key');
      const back = changes.find((change) => textOf(change) === target.address);
      const again = changes.find((change) => textOf(change) === maskOf(target.address));
      expect((again?.at ?? Number.NaN) - (back?.at ?? 0)).toBeLessThan(200);
      await live.waitFor(target.address, { stream: 'stderr' });
      live.child.kill('SIGINT');
      await live.ended;
      expect((await scene.keyOf(service, target.address))?.value.toString()).toBe(target.address);
    });

    test('auto refuses, and names both strategies', async () => {
      const service = 'auto';
      const [target] = await scene.servers(program, service, 2);
      const before = await scene.keys(service);
      const { code, stderr } = await scene.lbctl('pause', service, target?.address ?? '');
      expect(code).toBe(7);
      expect(stderr).toMatch(/--strategy mask, if every client is go-zero v1\.10\.2 or newer/);
      expect(stderr).toMatch(/--strategy delete, if the server is older than v1\.9\.0/);
      expect(await scene.keys(service)).toEqual(before);
    });
  });
