/** etcd goes away in each step of a drain and does not come back: what the command says then is what it knows. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Live, start } from '../../support/cli.js';
import { type EtcdProcess, etcdctl, startEtcd } from '../../support/etcd-process.js';
import { waitFor } from '../fleet.js';

type Fault = 'down' | 'hung' | 'wiped';

/** How a drain is brought to a step and kept there, and what shows that it is there. */
const steps: Readonly<
  Record<string, { readonly args: readonly string[]; readonly at: (drain: Live, endpoint: string) => Promise<unknown> }>
> = {
  'before it reads': { args: [], at: async () => {} },
  'while it watches that the instance stays out': {
    args: ['--verify', '4s'],
    at: (_drain, endpoint) =>
      waitFor('the mask', 30_000, async () => (await etcdctl(endpoint, 'get', 's/1')).includes('lbctl-paused')),
  },
  'while it waits for quiet': {
    args: ['--verify', '0s', '--grace', '4s'],
    at: (drain) => drain.waitFor('grace', { stream: 'stderr' }),
  },
  'while its command runs': {
    args: ['--verify', '0s', '--', 'sh', '-c', 'echo begun >&2; sleep 2'],
    at: (drain) => drain.waitFor('begun', { stream: 'stderr' }),
  },
  'while it waits for the instance to be healthy': {
    args: ['--verify', '0s', '--health', 'tcp://127.0.0.1:1', '--', 'true'],
    at: (drain) => drain.waitFor('healthy', { stream: 'stderr' }),
  },
};

let server: Server;
let address = '';
beforeAll(async () => {
  server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  address = `127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`;
});
afterAll(() => server.close());

async function strike(etcd: EtcdProcess, fault: Fault): Promise<void> {
  if (fault === 'hung') etcd.suspend();
  else if (fault === 'down') await etcd.kill();
  else await etcd.restart({ wipe: true });
}

describe.concurrent.each(['down', 'hung', 'wiped'] as const)('etcd %s', (fault) => {
  for (const [step, { args, at }] of Object.entries(steps)) {
    test(`${step}: exit 4, and never a success`, async () => {
      const etcd = await startEtcd();
      try {
        await etcdctl(etcd.endpoint, 'put', 's/1', address);
        await etcdctl(etcd.endpoint, 'put', 's/2', '10.0.0.2:80');
        const common = ['drain', 's', '1', '--strategy', 'mask', '--timeout', '5s', '--endpoints', etcd.endpoint];
        if (step === 'before it reads') await strike(etcd, fault);
        const drain = start([...common, '--command-timeout', '3s', ...args]);
        await at(drain, etcd.endpoint);
        if (step !== 'before it reads') await strike(etcd, fault);
        const { code, stderr } = await drain.ended;
        // An empty etcd is an answer: there is no such instance.
        const isEmpty = step === 'before it reads' && fault === 'wiped';
        expect(code, stderr).toBe(isEmpty ? 3 : 4);
        if (step !== 'before it reads') expect(stderr).toMatch(/unknown/i);
      } finally {
        etcd.resume();
        await etcd.stop();
      }
    }, 60_000);
  }
});
