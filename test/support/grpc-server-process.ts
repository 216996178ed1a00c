import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface ServerOptions {
  /** 0 or absent: a free one. */
  readonly port?: number;
  readonly latencyMs?: number;
  /** gRPC status code of every answer. */
  readonly code?: number;
  /** Null: no health service. Default SERVING. */
  readonly health?: 'SERVING' | 'NOT_SERVING' | null;
  readonly reflection?: boolean;
  /** Register in etcd, as a program that uses the library does. */
  readonly register?: {
    readonly etcd: string;
    readonly service: string;
    readonly options?: { readonly weight?: number; readonly ttlSeconds?: number; readonly zone?: string };
  };
}

export interface ServerProcess {
  /** `127.0.0.1:port`. */
  readonly address: string;
  readonly port: number;
  readonly pid: number;
  behave(how: { latencyMs?: number; code?: number; health?: 'SERVING' | 'NOT_SERVING' }): Promise<void>;
  /** What the server itself counted: how many calls came, and when (ms since the epoch). */
  counts(options?: { reset?: boolean }): Promise<{ readonly calls: number; readonly times: readonly number[] }>;
  kill(): Promise<void>;
  /** Withdraws from etcd first. Idempotent. */
  stop(): Promise<void>;
}

const script = fileURLToPath(new URL('./grpc-server-process.mjs', import.meta.url));
/** Eleven of them starting at once on two busy cores take their time. */
const answerWithinMs = 30_000;

/** A real gRPC server (test.Echo of test/fixtures/echo.proto) in a process of its own on loopback. */
export async function startServerProcess(options: ServerOptions = {}): Promise<ServerProcess> {
  const child = spawn(process.execPath, [script, JSON.stringify(options)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const waiting: Array<(line: string) => void> = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line));
  const nextLine = () =>
    new Promise<string>((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error('the server process did not answer')), answerWithinMs);
      waiting.push((line) => {
        clearTimeout(limit);
        resolve(line);
      });
    });
  const ask = async (command: object): Promise<string> => {
    const answer = nextLine();
    child.stdin.write(`${JSON.stringify(command)}\n`);
    return answer;
  };
  const { address } = JSON.parse(await nextLine());
  const end = async (how: () => void) => {
    if (child.exitCode === null && child.signalCode === null) how();
    await closed;
  };
  return {
    address,
    port: Number(address.split(':')[1]),
    pid: child.pid ?? 0,
    behave: async (how) => void (await ask({ do: 'behave', ...how })),
    counts: async ({ reset = false } = {}) => JSON.parse(await ask({ do: 'counts', reset })),
    kill: () => end(() => child.kill('SIGKILL')),
    stop: () => end(() => child.stdin.write('{"do":"stop"}\n')),
  };
}
