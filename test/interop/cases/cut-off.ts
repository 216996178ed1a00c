/** An instance whose value changes while a client is cut off from etcd: go-zero's client loses it, ours does not. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Caller } from '../../../src/core/grpc/calls/caller.js';
import { clientOptions } from '../../../src/core/grpc/client/client-options.js';
import { ClientState } from '../../../src/core/grpc/policies/client-state.js';
import { etcdctl } from '../../support/etcd-process.js';
import { startServerProcess } from '../../support/grpc-server-process.js';
import { startProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';
import { startGoClient } from '../support/programs.js';
import { failedOf, Scene } from '../support/scene.js';

const say = { path: '/test.Echo/Say', request: Buffer.alloc(0), verdict: () => null, answers: [] };

export const cutOff = () =>
  describe('an instance that moves while its clients are cut off', () => {
    let scene: Scene;
    beforeAll(async () => {
      scene = await Scene.open();
    });
    afterAll(() => scene?.close());

    test('ours calls it at its new address and no more at the old one; a go-zero client has lost it', async () => {
      const service = 'moved';
      const [stays, moves] = await scene.servers('gozero-1.10.3', service, 2);
      if (!stays || !moves) return;
      const elsewhere = await startServerProcess();
      scene.onClose(() => elsewhere.kill());
      const proxy = await startProxy(scene.etcd.port);
      scene.onClose(() => proxy.close());

      const ours: string[] = [];
      const state = new ClientState({ onAttempt: ({ address }) => ours.push(address) });
      const caller = new Caller({
        target: `etcd:///${proxy.address}?key=${service}`,
        options: clientOptions({ policy: 'round_robin', state, observe: false }),
        method: say,
        timeoutMs: 5000,
        metadata: [],
      });
      scene.onClose(() => caller.close());
      const theirs = startGoClient('gozero-1.10.3', { etcd: proxy.address, service, rps: 50 });
      scene.onClose(() => theirs.kill());
      const calledByOurs = async () => {
        ours.length = 0;
        for (let i = 0; i < 4; i++) expect(await caller.call()).toMatchObject({ isError: false });
        return [...new Set(ours)].sort();
      };
      const calledByTheirs = () => [...new Set(theirs.calls.slice(-100).map(({ server }) => server))].sort();
      const both = [stays.address, moves.address].sort();
      await until(async () => String(await calledByOurs()) === String(both), 10_000, 'both called by ours');
      await until(() => String(calledByTheirs()) === String(both), 10_000, 'both called by go-zero');

      proxy.cut({ refuse: true });
      const key = (await scene.keyOf(service, moves.address))?.key ?? '';
      await etcdctl(scene.etcd.endpoint, 'put', '--ignore-lease', key, elsewhere.address);
      await sleep(1000);
      proxy.heal();
      const now = [stays.address, elsewhere.address].sort();
      await until(async () => String(await calledByOurs()) === String(now), 15_000, 'the new address called by ours');

      // As long again as that may take: go-zero compares keys, not values, when it is back.
      await sleep(8000);
      expect(await calledByOurs()).toEqual(now);
      expect(calledByTheirs()).not.toContain(elsewhere.address);
      expect(failedOf(theirs.calls)).toEqual([]);
    });
  });
