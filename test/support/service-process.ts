import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const script = fileURLToPath(new URL('./service-process.mjs', import.meta.url));
const server = (port: number) =>
  `require('node:net').createServer((socket) => socket.on('error', () => {})).listen(${port}, '127.0.0.1')`;

export interface ServiceProcess {
  readonly address: string;
  readonly port: number;
  /** Of the `lbctl register` that holds it now. */
  readonly pid: number;
  /** What restarts it, as a command line. */
  readonly restart: readonly string[];
  /** What ends it. */
  readonly stop: readonly string[];
  close(): Promise<void>;
}

/** A real TCP server under a real `lbctl register`, in a session of its own, as systemd has it. */
export async function startService(endpoint: string, service: string): Promise<ServiceProcess> {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const dir = mkdtempSync(join(tmpdir(), 'lbctl-service-'));
  const args = ['register', service, address, '--health', 'tcp', '--drain-delay', '0', '--ttl', '3s'];
  const config = { endpoint, args: [...args, '--', process.execPath, '-e', server(port)] };
  writeFileSync(join(dir, 'config.json'), JSON.stringify(config));
  const command = (what: string) => [process.execPath, script, dir, what];
  await promisify(execFile)(process.execPath, [script, dir, 'start']);
  return {
    address,
    port,
    get pid() {
      return Number(readFileSync(join(dir, 'pid'), 'utf8'));
    },
    restart: command('restart'),
    stop: command('stop'),
    async close() {
      await promisify(execFile)(process.execPath, [script, dir, 'stop']);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
