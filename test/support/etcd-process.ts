/**
 * Real etcd servers for tests: the binary is LBCTL_TEST_ETCD, else `etcd` on PATH; all of them listen on free loopback
 * ports, keep their data under the temporary directory, and end with the test process at the latest.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface ServerTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  /** Refuse clients that show no certificate of this CA. */
  readonly requireClientCert?: boolean;
}

export interface EtcdOptions {
  /** Paths of PEM files; see certificates.ts. */
  readonly tls?: ServerTls;
  readonly authTokenTtlSeconds?: number;
  readonly args?: readonly string[];
}

export interface EtcdProcess {
  /** `http://127.0.0.1:port`, or `https://…` with TLS. */
  readonly endpoint: string;
  readonly port: number;
  /** Of the running server; changes with `restart`. */
  readonly pid: number;
  /** SIGKILL, and waits for the exit. */
  kill(): Promise<void>;
  /** Ends the server for good and removes its data. */
  stop(): Promise<void>;
  /** SIGSTOP: it holds its connections and answers nothing. */
  suspend(): void;
  resume(): void;
  /** Kills the server if it runs, and starts it on the same port with the same data, or with none. */
  restart(options?: { wipe?: boolean }): Promise<void>;
}

interface Member {
  readonly name: string;
  readonly clientPort: number;
  readonly peerPort: number;
}

const running = new Set<ChildProcess>();
const killAll = () => {
  for (const child of running) child.kill('SIGKILL');
};
process.once('exit', killAll);
process.once('SIGTERM', () => process.exit(143));
process.once('disconnect', killAll);

/** One server, ready to answer. */
export async function startEtcd(options: EtcdOptions = {}): Promise<EtcdProcess> {
  const [server] = await launch(1, options);
  if (server === undefined) throw new Error('etcd did not start');
  return server;
}

/** A cluster of `size` members, ready to answer. */
export function startCluster(size: number, options: EtcdOptions = {}): Promise<EtcdProcess[]> {
  return launch(size, options);
}

async function launch(size: number, options: EtcdOptions): Promise<EtcdProcess[]> {
  // A free port can be taken by somebody else between the question and its use, so a failed start is tried again.
  for (let attempt = 1; ; attempt++) {
    const ports = await freePorts(2 * size);
    const members = Array.from({ length: size }, (_, i) => ({
      name: `m${i}`,
      clientPort: ports[2 * i] ?? 0,
      peerPort: ports[2 * i + 1] ?? 0,
    }));
    const servers = members.map((member) => new Server(member, members, options));
    try {
      await Promise.all(servers.map((server) => server.restart()));
      return servers;
    } catch (error) {
      await Promise.all(servers.map((server) => server.stop()));
      if (attempt === 3 || !String(error).includes('address already in use')) throw error;
    }
  }
}

class Server implements EtcdProcess {
  readonly endpoint: string;
  readonly port: number;
  readonly #member: Member;
  readonly #members: readonly Member[];
  readonly #options: EtcdOptions;
  readonly #dataDir = mkdtempSync(join(tmpdir(), 'lbctl-etcd-'));
  #child: ChildProcess | null = null;

  constructor(member: Member, members: readonly Member[], options: EtcdOptions) {
    this.#member = member;
    this.#members = members;
    this.#options = options;
    this.port = member.clientPort;
    this.endpoint = `${options.tls ? 'https' : 'http'}://127.0.0.1:${member.clientPort}`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  suspend(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async restart({ wipe = false } = {}): Promise<void> {
    await this.kill();
    if (wipe) rmSync(join(this.#dataDir, 'member'), { recursive: true, force: true });
    const child = spawn(etcdBinary(), this.#args(), { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    await readyToServe(child);
  }

  #args(): string[] {
    const { clientPort, peerPort, name } = this.#member;
    const { tls, authTokenTtlSeconds, args = [] } = this.#options;
    const peers = this.#members.map((m) => `${m.name}=http://127.0.0.1:${m.peerPort}`).join(',');
    const clientUrl = `${tls ? 'https' : 'http'}://127.0.0.1:${clientPort}`;
    return [
      ...['--name', name, '--data-dir', this.#dataDir, '--logger', 'zap', '--log-outputs', 'stderr'],
      ...['--listen-client-urls', clientUrl, '--advertise-client-urls', clientUrl],
      ...['--listen-peer-urls', `http://127.0.0.1:${peerPort}`],
      ...['--initial-advertise-peer-urls', `http://127.0.0.1:${peerPort}`],
      ...['--initial-cluster', peers, '--initial-cluster-token', `lbctl-${this.#members[0]?.peerPort}`],
      ...(tls ? ['--cert-file', tls.cert, '--key-file', tls.key] : []),
      // A trusted CA alone makes etcd demand client certificates, whatever --client-cert-auth says.
      ...(tls?.requireClientCert ? ['--trusted-ca-file', tls.ca, '--client-cert-auth'] : []),
      ...(authTokenTtlSeconds ? ['--auth-token-ttl', String(authTokenTtlSeconds)] : []),
      ...args,
    ];
  }
}

/** Resolves when the server says that it serves clients; rejects with the end of its log when it exits before. */
function readyToServe(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = '';
    const fail = (why: string) => reject(new Error(`etcd ${why}:\n${log.slice(-2000)}`));
    const timer = setTimeout(() => fail('was not ready within 20 s'), 20_000);
    child.once('error', (error) => fail(`could not be started (${error.message})`));
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      fail(`exited with ${code ?? signal} before it was ready`);
    });
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      // The log is read to the end of the server's life: a full pipe would block it.
      log = (log + chunk).slice(-20_000);
      if (log.includes('serving client traffic')) {
        clearTimeout(timer);
        resolve();
      }
    });
  });
}

function etcdBinary(): string {
  return process.env.LBCTL_TEST_ETCD || 'etcd';
}

/** What etcd prints for `--version`, such as `3.4.23`. */
export async function etcdVersion(): Promise<string> {
  const { stdout } = await promisify(execFile)(etcdBinary(), ['--version']);
  return /etcd Version: (\S+)/.exec(stdout)?.[1] ?? '';
}

/** Runs etcdctl (LBCTL_TEST_ETCDCTL, else from PATH) against one endpoint; its standard output. */
export async function etcdctl(endpoint: string, ...args: string[]): Promise<string> {
  const binary = process.env.LBCTL_TEST_ETCDCTL || 'etcdctl';
  const env = { PATH: process.env.PATH, ETCDCTL_API: '3', ETCDCTL_ENDPOINTS: endpoint };
  const { stdout } = await promisify(execFile)(binary, args, { env, maxBuffer: 64 << 20 });
  return stdout;
}

/** Turns on authentication with user `root` (password `root`) and one user that may use one prefix. */
export async function enableAuth(endpoint: string, user: { name: string; password: string; prefix: string }) {
  await etcdctl(endpoint, 'user', 'add', 'root:root');
  await etcdctl(endpoint, 'user', 'grant-role', 'root', 'root');
  await etcdctl(endpoint, 'role', 'add', user.name);
  await etcdctl(endpoint, 'role', 'grant-permission', user.name, '--prefix=true', 'readwrite', user.prefix);
  await etcdctl(endpoint, 'user', 'add', `${user.name}:${user.password}`);
  await etcdctl(endpoint, 'user', 'grant-role', user.name, user.name);
  await etcdctl(endpoint, 'auth', 'enable');
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
