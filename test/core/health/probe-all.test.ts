import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { probeAll } from '../../../src/core/health/probe-all.js';
import { systemClock } from '../../../src/core/model/clock.js';
import { instance } from '../../support/instances.js';

let server: Server;
let listening = '';
let refusing = '';
let connections = 0;

beforeAll(async () => {
  server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  listening = await listen(server);
  const other = createServer();
  refusing = await listen(other);
  await new Promise((resolve) => other.close(resolve));
});
afterAll(() => server.close());

function listen(on: Server): Promise<string> {
  return new Promise((resolve) => {
    on.listen(0, '127.0.0.1', () => {
      const address = on.address();
      resolve(typeof address === 'object' ? `127.0.0.1:${address?.port}` : '');
    });
  });
}

const options = { clock: systemClock, timeoutMs: 1000, concurrency: 2 };

test('an address that accepts is healthy, one that refuses is not, no address stays unknown', async () => {
  const probed = await probeAll(
    [
      instance({ address: listening }),
      instance({ address: refusing }),
      instance({ address: '' }),
      instance({ address: 'no port' }),
    ],
    options,
  );
  expect(probed.map((entry) => entry.health)).toEqual(['healthy', 'unhealthy', 'unknown', 'unhealthy']);
});

test('keys that share an address cost one connection', async () => {
  connections = 0;
  const probed = await probeAll(
    Array.from({ length: 50 }, () => instance({ address: listening })),
    options,
  );
  expect(new Set(probed.map((entry) => entry.health))).toEqual(new Set(['healthy']));
  await expect.poll(() => connections).toBe(1);
});

/** Listens and never accepts: once its backlog is full, the kernel answers nobody. */
const deaf = `
  require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    require('node:fs').writeSync(1, String(this.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

test('an address that does not answer costs the time limit, not more', async () => {
  const child = spawn(process.execPath, ['-e', deaf], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(child.stdout, 'data');
  const crowd = Array.from({ length: 4 }, () => connect(Number(port), '127.0.0.1').on('error', () => {}));
  try {
    const asked = performance.now();
    await once(crowd[0] ?? child, 'connect');
    const [silent] = await probeAll([instance({ address: `127.0.0.1:${port}` })], { ...options, timeoutMs: 200 });
    expect(silent?.health).toBe('unhealthy');
    expect(performance.now() - asked).toBeGreaterThan(190);
    expect(performance.now() - asked).toBeLessThan(1000);
  } finally {
    for (const socket of crowd) socket.destroy();
    child.kill('SIGKILL');
  }
});
