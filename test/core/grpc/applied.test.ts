import { experimental, Metadata } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { clientOptions } from '../../../src/core/grpc/client/client-options.js';
import { resolverOf } from '../../../src/core/grpc/resolvers/resolver.js';
import type { Sink } from '../../../src/core/grpc/resolvers/source.js';
import type { DirectTarget } from '../../../src/core/grpc/target.js';
import { EchoClient } from '../../support/grpc-client.js';
import { until } from '../../support/until.js';
import { cleanUp, servers } from './harness.js';

/** A client whose set of instances the test tells, as etcd would. */
function told(policy: string) {
  let sink: Sink | null = null;
  const source = {
    open(given: Sink) {
      sink = given;
      return () => {};
    },
  };
  const resolver = resolverOf<DirectTarget>(
    () => source,
    () => 'localhost',
  );
  const options = clientOptions({ policy });
  // In the place of lbctl's own, which clientOptions has registered.
  experimental.registerResolver('direct', resolver);
  const client = new EchoClient('direct:///a:1', options);
  cleanUp(() => client.close());
  void client.isReady();
  return { client, sink: () => sink };
}

/**
 * What a record promises: a call that starts after a set was applied goes to an instance of that set, or of one that was
 * found later. The sets change faster than they are pushed, and than a ring of 100 nodes each is built.
 */
it.each(['random', 'consistent_hash', 'p2c_ewma'])(
  'under %s no call goes to what had left a set that is applied',
  async (policy) => {
    const addresses = (await servers(undefined, undefined, undefined, undefined)).map(({ address }) => address);
    const { client, sink } = told(policy);
    await until(() => sink(), 1000);
    const sets: string[][] = [];
    let appliedLast = -1;
    const calls: Promise<void>[] = [];
    const wrong: string[] = [];
    const call = (from: number) => {
      const metadata = new Metadata();
      metadata.set('x-user-id', String(calls.length));
      const answer = client.call(metadata);
      calls.push(
        answer.then(({ code }) => {
          const peer = answer.call.getPeer();
          if (code === 0 && !sets.slice(from).flat().includes(peer)) wrong.push(`${peer} after set ${from}`);
          if (code !== 0) wrong.push(`code ${code}`);
        }),
      );
    };
    for (let round = 0; round < 120; round++) {
      const set = addresses.filter((_, index) => (((round * 7) % 15) + 1) & (1 << index));
      const index = sets.push(set) - 1;
      sink()?.found(
        set.map((address) => ({ address })),
        '',
        () => {
          appliedLast = index;
          for (let i = 0; i < 8; i++) call(index);
        },
      );
      await new Promise((resolve) => setTimeout(resolve, round % 3 === 0 ? 21 : 1));
    }
    await until(() => appliedLast === sets.length - 1, 2000, 'the last set to be applied');
    await Promise.all(calls);
    expect(wrong).toEqual([]);
    expect(calls.length).toBeGreaterThan(200);
  },
);
