import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ClientSettings } from '../../src/core/grpc/client/client-options.js';

export interface ObservedClientOptions {
  readonly target: string;
  /** Default: round_robin. */
  readonly settings?: ClientSettings;
  /** Channel options beside those of `clientOptions`. */
  readonly options?: Readonly<Record<string, number>>;
  /** Calls a second, whether or not earlier ones have ended. Default: one call, then none that is not asked for. */
  readonly rps?: number;
}

interface Counts {
  readonly calls: number;
  readonly failures: number;
  readonly last: string;
}

export interface ObservedClient {
  readonly pid: number;
  /** One more call; resolves when it has ended. */
  call(): Promise<Counts>;
  counts(): Promise<Counts>;
  /** Closes the client; how long the process then took to end by itself, and what it wrote to stderr. */
  close(): Promise<{ readonly tookMs: number; readonly code: number | null; readonly stderr: string }>;
  kill(): Promise<void>;
}

const script = fileURLToPath(new URL('./observed-client.mjs', import.meta.url));

/** A client of the built library in a process of its own that has made its first call. */
export async function startObservedClient(options: ObservedClientOptions): Promise<ObservedClient> {
  const child = spawn(process.execPath, [script, JSON.stringify(options)], { stdio: 'pipe' });
  const closed = once(child, 'close');
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const waiting: Array<(line: string) => void> = [];
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.(line));
  const nextLine = () => {
    const ended = closed.then(() => Promise.reject(new Error(`The client process ended: ${stderr}`)));
    return Promise.race([new Promise<string>((resolve) => waiting.push(resolve)), ended]);
  };
  const ask = async (what: string) => {
    const answer = nextLine();
    child.stdin.write(`{"do":"${what}"}\n`);
    return JSON.parse(await answer);
  };
  await nextLine();
  return {
    pid: child.pid ?? 0,
    call: () => ask('call'),
    counts: () => ask('counts'),
    close: async () => {
      const startedAt = performance.now();
      child.stdin.end('{"do":"close"}\n');
      const [code] = await closed;
      return { tookMs: performance.now() - startedAt, code, stderr };
    },
    kill: async () => {
      child.kill('SIGKILL');
      await closed;
    },
  };
}
