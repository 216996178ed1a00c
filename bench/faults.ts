/**
 * The stock watcher of the etcd3 package under the cheap faults of test/faults: how many events of a key prefix it tells.
 * Run: npx tsx bench/faults.ts
 */
import { Etcd3 } from 'etcd3';
import { etcdVersion, startEtcd } from '../test/support/etcd-process.js';
import { openTruth, type Truth } from '../test/support/etcd-truth.js';
import { startProxy, type TcpProxy } from '../test/support/tcp-proxy.js';

/** Long enough for the back-off of the stock client, which may sleep 25 s. */
const patienceMs = 30_000;

const faults: Record<string, (truth: Truth, proxy: TcpProxy) => Promise<number>> = {
  async 'drop before the backlog'(truth, proxy) {
    for (let i = 1; i <= 6; i++) await truth.put(`s/${i}`, Buffer.alloc(2000, 'x'));
    proxy.heal();
    // The confirmation of the watch comes through, the backlog does not.
    proxy.limitAnswers(1000, 1);
    return 6;
  },
  async 'compaction while away'(truth, proxy) {
    for (let i = 1; i <= 20; i++) await truth.put(`s/${i}`, `10.0.0.${i}:80`);
    await truth.compact(await truth.revision());
    proxy.heal();
    return 20;
  },
  async '6 MB backlog'(truth, proxy) {
    for (let i = 1; i <= 6; i++) await truth.put(`s/${i}`, Buffer.alloc(1_000_000, 'x'));
    proxy.heal();
    return 6;
  },
};

console.log(`Stock etcd3 on etcd ${await etcdVersion()}, up to ${patienceMs / 1000} s of patience each`);
for (const [name, fault] of Object.entries(faults)) {
  const etcd = await startEtcd();
  const proxy = await startProxy(etcd.port);
  const truth = openTruth(etcd.endpoint);
  const client = new Etcd3({ hosts: proxy.address });
  const seen = new Set<string>();
  const troubles: string[] = [];
  try {
    const watcher = await client.watch().prefix('s/').create();
    watcher.on('put', ({ key }) => void seen.add(key.toString()));
    watcher.on('error', (error) => void troubles.push(error.message));
    proxy.cut({ refuse: true });
    const expected = await fault(truth, proxy);
    const from = performance.now();
    const count = () => [...seen].filter((key) => key !== 's/after').length;
    while (count() < expected && performance.now() - from < patienceMs) await new Promise((go) => setTimeout(go, 50));
    const took = ((performance.now() - from) / 1000).toFixed(1);
    // Whether it goes on at all afterwards.
    await truth.put('s/after', '10.0.1.1:80');
    const later = performance.now();
    while (!seen.has('s/after') && performance.now() - later < 2000) await new Promise((go) => setTimeout(go, 50));
    const end = seen.has('s/after') ? 'goes on' : 'hears nothing any more';
    console.log(
      `  ${name.padEnd(26)} ${count()} of ${expected} after ${took} s, ${end} ${[...new Set(troubles)].join('; ')}`,
    );
  } finally {
    client.close();
    truth.close();
    await proxy.close();
    await etcd.stop();
  }
}
// The stock watcher keeps the process alive for good.
process.exit(0);
