import { expect, test } from 'vitest';
import { prefixRange } from '../../../src/core/etcd/key-text.js';
import { open } from '../../support/etcd-client.js';
import { startEtcd } from '../../support/etcd-process.js';

test('a list whose page exceeds what grpc takes is read in smaller pages', async () => {
  const server = await startEtcd();
  const etcd = await open(server.endpoint);
  const value = Buffer.alloc(1_400_000, 'x');
  for (let i = 0; i < 50; i++) await etcd.txn({ success: [{ put: `large/${i}`, value }] });
  const { kvs } = await etcd.list(prefixRange('large/'), { timeoutMs: 60_000 });
  expect(kvs.map((kv) => kv.value.length)).toEqual(Array(50).fill(1_400_000));
  await server.stop();
});
