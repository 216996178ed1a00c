import { connectivityState, Metadata, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { Candidate } from '../../../src/core/balancer/balancer.js';
import { createBalancer } from '../../../src/core/balancer/policies.js';
import type { EchoHandler } from '../../support/grpc-server.js';
import { until } from '../../support/until.js';
import { connect, picks, servers, silentServer, withKey } from './harness.js';

const unavailable: EchoHandler = (_call, callback) => callback({ code: status.UNAVAILABLE, details: 'overloaded' });

/** A key whose owners on the ring come in this order. */
function keyOwnedBy(order: readonly Candidate[], all: readonly Candidate[]): string {
  const ring = createBalancer('consistent_hash');
  ring.update(all);
  for (let i = 0; ; i++) {
    const placed = ring.place?.(`user-${i}`, all.length);
    const owners = [placed?.address, ...(placed?.next ?? [])];
    if (order.every((server, n) => server.address === owners[n])) return `user-${i}`;
  }
}

describe('the hash key', () => {
  it('sends one user to one instance, the one that the ring names', async () => {
    const all = await servers(...Array(4));
    const { client, attempts } = connect(all, { policy: 'consistent_hash' });
    for (const owner of all) {
      attempts.length = 0;
      const key = keyOwnedBy([owner], all);
      await Promise.all(Array.from({ length: 50 }, () => client.call(withKey(key))));
      expect(new Set(attempts.map(({ address }) => address))).toEqual(new Set([owner.address]));
    }
  });

  it('may come in x-user-id or a header of one’s own; the first that is not empty counts', async () => {
    const all = await servers(undefined, undefined);
    const [a] = all;
    if (a === undefined) throw new Error('no server');
    const key = keyOwnedBy([a], all);
    const standard = connect(all, { policy: 'consistent_hash' });
    const both = withKey(key, 'x-user-id');
    both.set('x-lb-hash-key', '');
    for (let i = 0; i < 10; i++) await standard.client.call(both);
    const own = connect(all, { policy: 'consistent_hash', hashKeyHeaders: ['X-Tenant'] });
    for (let i = 0; i < 10; i++) await own.client.call(withKey(key, 'x-tenant'));
    const used = [...standard.attempts, ...own.attempts];
    expect(used).toHaveLength(20);
    expect(used.every(({ address }) => address === a.address)).toBe(true);
  });

  it.each([
    ['absent', new Metadata()],
    ['empty', withKey('')],
  ])('that is %s fails the call as the caller’s mistake', async (_, metadata) => {
    const { client } = connect(await servers(undefined), { policy: 'consistent_hash' });
    const { code, details } = await client.call(metadata);
    expect(code).toBe(status.INVALID_ARGUMENT);
    expect(details).toContain('x-lb-hash-key or x-user-id');
  });

  it('goes to the server unless it is to be stripped', async () => {
    const seen: unknown[] = [];
    const handler: EchoHandler = (call, callback) => {
      seen.push(call.metadata.get('x-lb-hash-key')[0]);
      callback(null, call.request);
    };
    const all = await servers(handler);
    await connect(all, { policy: 'consistent_hash' }).client.call(withKey('u1'));
    await connect(all, { policy: 'consistent_hash', stripHashKey: true }).client.call(withKey('u1'));
    expect(seen).toEqual(['u1', undefined]);
  });

  it('waits for an owner that is being connected, and moves on from one that cannot be', async () => {
    const [server] = await servers(undefined);
    const silent = await silentServer();
    if (server === undefined) throw new Error('no server');
    const all = [server, silent];
    const { client, attempts } = connect(all, { policy: 'consistent_hash' });
    expect((await client.call(withKey(keyOwnedBy([server], all)))).code).toBe(0);
    const waiting = Array.from({ length: 10 }, () => client.call(withKey(keyOwnedBy([silent], all))));
    for (let i = 0; i < 10; i++) await client.call(withKey(keyOwnedBy([server], all)));
    expect(attempts).toHaveLength(11);

    silent.stop();
    expect((await Promise.all(waiting)).every(({ code }) => code === 0)).toBe(true);
    expect(attempts.every(({ address }) => address === server.address)).toBe(true);
    expect(attempts).toHaveLength(21);
  });
});

describe('a retry', () => {
  const retry = { methods: ['test.Echo/Echo'], initialBackoffMs: 1, maxBackoffMs: 1 };

  it('goes to instances that the call has not tried, however many calls share one Metadata', async () => {
    const all = await servers(unavailable, unavailable, undefined);
    const [bad1, bad2, good] = all;
    if (bad1 === undefined || bad2 === undefined || good === undefined) throw new Error('no servers');
    const { client, attempts } = connect(all, { policy: 'consistent_hash', retry: { ...retry, maxAttempts: 3 } });
    const metadata = withKey(keyOwnedBy([bad1, bad2, good], all));
    for (let i = 0; i < 20; i++) {
      attempts.length = 0;
      expect((await client.call(metadata)).code).toBe(0);
      expect(attempts.map(({ address }) => address)).toEqual([bad1.address, bad2.address, good.address]);
      expect(attempts.map(({ code }) => code)).toEqual([status.UNAVAILABLE, status.UNAVAILABLE, status.OK]);
    }
  });

  it('goes to a tried one when no other is left, up to maxAttempts', async () => {
    const { client, attempts } = connect(await servers(unavailable, unavailable), { policy: 'round_robin', retry });
    expect((await client.call()).code).toBe(status.UNAVAILABLE);
    expect(attempts).toHaveLength(4);
    expect(new Set(attempts.map(({ address }) => address)).size).toBe(2);
  });

  it('is not made for a method that was not declared', async () => {
    const settings = { policy: 'round_robin', retry: { ...retry, methods: ['test.Echo/Other'] } };
    const { client, attempts } = connect(await servers(unavailable), settings);
    expect((await client.call()).code).toBe(status.UNAVAILABLE);
    expect(attempts).toHaveLength(1);
  });
});

describe('a channel that was idle', () => {
  it('goes on with what its policy knew', async () => {
    const idle = { 'grpc.client_idle_timeout_ms': 1000 };
    const all = await servers(...Array(3));
    const { client, state, attempts } = connect(all, { policy: 'round_robin' }, idle);
    for (let i = 0; i < 4; i++) await client.call();
    await until(() => client.connectivity() === connectivityState.IDLE, 6000, 'an idle channel');
    await client.call();
    expect(picks(state)).toEqual([2, 2, 1]);
    expect(attempts.at(-1)?.address).toBe(all[1]?.address);
  });

  it('does not mix with another channel that has the same options', async () => {
    const all = await servers(...Array(3));
    const { state, client } = connect(all.slice(0, 2), { policy: 'round_robin' });
    await client.calls(4);
    const other = connect(all.slice(2), { policy: 'round_robin', state });
    await other.client.calls(3);
    await client.calls(2);
    expect(picks(state)).toEqual([3, 3, 3]);
  });
});
