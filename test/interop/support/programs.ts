/** The Go programs of test/interop as processes: real servers that register themselves in etcd, and real clients. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, describe, inject } from 'vitest';
import { until } from '../../support/until.js';

export type Program = 'gozero-1.10.3' | 'gozero-1.9.2' | 'gozero-1.8.5' | 'kratos' | 'naming' | 'promlint';

declare module 'vitest' {
  interface ProvidedContext {
    programs: Readonly<Record<Program, string>> | null;
  }
}

const programs = inject('programs');
/** A `describe` that is skipped where the programs could not be built. */
export const interop = describe.skipIf(programs === null);

export interface Where {
  /** `127.0.0.1:port`. */
  readonly etcd: string;
  readonly service: string;
}

export interface GoServer {
  readonly address: string;
  behave(how: { latencyMs: number }): Promise<void>;
  /** What the server counted itself: calls that came, and when each did (ms since the epoch). */
  counts(options?: { reset?: boolean }): Promise<{ readonly calls: number; readonly times: readonly number[] }>;
  /** SIGTERM: the framework's own way to stop. */
  terminate(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

export interface Call {
  /** Ms since the epoch at which it was started. */
  readonly at: number;
  readonly ms: number;
  /** The address that answered; empty for a call that failed. */
  readonly server: string;
  /** As gRPC names it: `OK`, `Unavailable`. */
  readonly code: string;
  readonly error?: string;
}

export interface GoClient {
  /** Every call that has ended, in the order of their ends. */
  readonly calls: readonly Call[];
  /** When the last call that this server answered was started (ms since the epoch), 0 without one. */
  lastTo(address: string): number;
  /** From now on so many calls a second. */
  callAt(rps: number): void;
  /** For each key the address that answered a call with it. */
  owners(keys: readonly string[]): Promise<readonly string[]>;
  kill(): Promise<void>;
}

const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

function startProgram(program: Program, role: 'server' | 'client', settings: object) {
  if (programs === null) throw new Error('There are no Go programs here');
  const child = spawn(programs[program], [role, JSON.stringify(settings)], { stdio: ['pipe', 'pipe', 'inherit'] });
  running.add(child);
  const closed = once(child, 'close').then(() => running.delete(child));
  child.stdin.on('error', () => {});
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await closed;
  };
  const lines = createInterface({ input: child.stdout });
  const ask = (command: object) => void child.stdin.write(`${JSON.stringify(command)}\n`);
  return { lines, ask, end };
}

/** Resolves when the server takes calls and `registered` says of its address that it is in etcd. */
export async function startGoServer(
  program: Program,
  where: Where & { latencyMs?: number },
  registered: (address: string) => Promise<unknown>,
): Promise<GoServer> {
  const { lines, ask, end } = startProgram(program, 'server', where);
  const answers: string[] = [];
  lines.on('line', (line) => answers.push(line));
  const next = async () => {
    await until(() => answers.length > 0, 30_000, `an answer of ${program}`);
    return JSON.parse(answers.shift() ?? '');
  };
  const { address } = await next();
  await until(() => registered(address), 30_000, `the registration of ${address}`);
  return {
    address,
    async behave(how) {
      ask({ do: 'behave', ...how });
      await next();
    },
    async counts({ reset = false } = {}) {
      ask({ do: 'counts', reset });
      return next();
    },
    terminate: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

/** Calls at the rate from now on; with rate 0 only what is asked for. */
export function startGoClient(
  program: Program,
  settings: Where & { rps: number; policy?: 'p2c_ewma' | 'consistent_hash'; timeoutMs?: number },
): GoClient {
  const { lines, ask, end } = startProgram(program, 'client', { timeoutMs: 5000, ...settings });
  const calls: Call[] = [];
  const owners: string[][] = [];
  const last = new Map<string, number>();
  lines.on('line', (line) => {
    const value = JSON.parse(line);
    if (value.owners) owners.push(value.owners);
    else {
      calls.push(value);
      last.set(value.server, Math.max(value.at, last.get(value.server) ?? 0));
    }
  });
  return {
    calls,
    lastTo: (address) => last.get(address) ?? 0,
    callAt: (rps) => ask({ do: 'rate', rps }),
    async owners(keys) {
      ask({ do: 'owners', keys });
      await until(() => owners.length > 0, 30_000, 'the owners of the keys');
      return owners.shift() ?? [];
    },
    kill: () => end('SIGKILL'),
  };
}
