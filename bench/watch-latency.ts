/**
 * From a put being sent to the line being printed: `lbctl watch` beside `etcdctl watch`, both on every put.
 * Run after `npm run build`: npx tsx bench/watch-latency.ts [puts]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Etcd3 } from 'etcd3';
import { startEtcd } from '../test/support/etcd-process.js';
import { quantile } from './compare.js';

const puts = Number(process.argv[2] ?? 300);
const lbctl = path.join(fileURLToPath(new URL('..', import.meta.url)), 'bin/run.js');
const etcd = await startEtcd();
const client = new Etcd3({ hosts: etcd.endpoint });

/** Times, by address, at which a process printed a line that holds it. */
function arrivals(child: ChildProcess): Map<string, number> {
  const seen = new Map<string, number>();
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = /10\.9\.\d+\.\d+:\d+/.exec(line)?.[0];
      if (address && !seen.has(address)) seen.set(address, performance.now());
    });
  }
  return seen;
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited 15 s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const children = new Map(
  Object.entries({
    'lbctl watch': spawn(process.execPath, [lbctl, 'watch', 'bench.rpc', '-o', 'json'], {
      env: { ...process.env, LBCTL_ENDPOINTS: etcd.endpoint },
    }),
    'etcdctl watch': spawn('etcdctl', ['--endpoints', etcd.endpoint, 'watch', '--prefix', 'bench.rpc/'], {
      env: { ...process.env, ETCDCTL_API: '3' },
    }),
  }).map(([name, child]) => [name, { child, seen: arrivals(child) }]),
);
try {
  const put = (address: string) =>
    client.kv.put({ key: Buffer.from(`bench.rpc/${address}`), value: Buffer.from(address) });
  // A put that both have seen proves that both are watching.
  let warm = 0;
  const all = [...children.values()];
  while (!all.every(({ seen }) => seen.size > 0)) {
    await put(`10.9.0.0:${++warm}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (warm > 150) throw new Error('the watchers never saw a put');
  }
  const latencies = new Map<string, number[]>([...children.keys()].map((name) => [name, []]));
  for (let i = 0; i < puts; i++) {
    const address = `10.9.1.${i & 255}:${1000 + i}`;
    const sent = performance.now();
    await put(address);
    await until(() => all.every(({ seen }) => seen.has(address)), address);
    for (const [name, { seen }] of children) latencies.get(name)?.push((seen.get(address) ?? Number.NaN) - sent);
  }
  console.log(`\nWatch latency, put sent to line printed, ${puts} puts`);
  for (const [name, values] of latencies) {
    const [p50, p90, p99] = [0.5, 0.9, 0.99].map((q) => `${quantile(values, q).toFixed(2)} ms`);
    console.log(`  ${name.padEnd(16)} p50 ${p50}   p90 ${p90}   p99 ${p99}`);
  }
} finally {
  for (const { child } of children.values()) child.kill('SIGKILL');
  client.close();
  await etcd.stop();
}
