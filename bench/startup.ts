/**
 * Whole-process times of one-shot verbs beside `node -e 0` and etcdctl, in one run.
 * Run after `npm run build`: npx tsx bench/startup.ts [rounds]
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Etcd3 } from 'etcd3';
import { startEtcd } from '../test/support/etcd-process.js';
import { printRatios, timeProcesses } from './compare.js';

const rounds = Number(process.argv[2] ?? 15);
const lbctl = path.join(fileURLToPath(new URL('..', import.meta.url)), 'bin/run.js');
const etcd = await startEtcd();
const client = new Etcd3({ hosts: etcd.endpoint });
try {
  for (const [service, count] of [
    ['small.rpc', 10],
    ['large.rpc', 10_000],
  ] as const) {
    const lease = await client.leaseClient.leaseGrant({ TTL: 600, ID: 0 });
    for (let from = 0; from < count; from += 100) {
      await client.kv.txn({
        success: Array.from({ length: Math.min(100, count - from) }, (_, i) => ({
          request_put: {
            key: Buffer.from(`${service}/${from + i}`),
            value: Buffer.from(`10.0.${(from + i) >> 8}.${(from + i) & 255}:8080`),
            lease: lease.ID,
          },
        })),
      });
    }
  }
  const node = (name: string, ...args: string[]) => ({ name, command: process.execPath, args });
  const env = { LBCTL_ENDPOINTS: etcd.endpoint };
  const verb = (name: string, ...args: string[]) => ({ ...node(name, lbctl, ...args), env });
  const etcdctl = (service: string) => ({
    name: `etcdctl get --prefix ${service}/`,
    command: 'etcdctl',
    args: ['--endpoints', etcd.endpoint, 'get', '--prefix', `${service}/`],
    env: { ETCDCTL_API: '3' },
  });
  printRatios(
    'Start-up',
    timeProcesses(
      [
        node('node -e 0', '-e', '0'),
        verb('lbctl --version', '--version'),
        verb('lbctl pick --nodes', 'pick', '--nodes', 'a:1,b:1,c:1', '--key', 'user:42'),
        verb('lbctl list small.rpc (10)', 'list', 'small.rpc'),
        etcdctl('small.rpc'),
      ],
      rounds,
    ),
    'node -e 0',
  );
  const large = etcdctl('large.rpc');
  printRatios(
    'A service of 10,000 instances',
    timeProcesses(
      [
        large,
        verb('lbctl list large.rpc', 'list', 'large.rpc'),
        verb('lbctl list large.rpc -o json', 'list', 'large.rpc', '-o', 'json'),
      ],
      rounds,
    ),
    large.name,
  );
} finally {
  client.close();
  await etcd.stop();
}
