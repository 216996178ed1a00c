import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';

const bin = fileURLToPath(new URL('../../bin/run.js', import.meta.url));

export interface RunOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Written to stdin, which is then closed. */
  readonly stdin?: string;
  readonly timeoutMs?: number;
}

export interface Ended {
  /** 128 + n for a process that a signal killed, as a shell says it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running lbctl: a real process of the built command line. */
export interface Live {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** The first match of `pattern` in what stdout (or stderr) has held so far. */
  waitFor(pattern: string | RegExp, options?: WaitOptions): Promise<RegExpMatchArray>;
  readonly ended: Promise<Ended>;
  /** Ends it with SIGKILL, when it still runs. */
  kill(): void;
}

interface WaitOptions {
  readonly stream?: 'stdout' | 'stderr';
  readonly timeoutMs?: number;
}

/** The environment of a test holds no settings of the person who runs it. */
function environment(extra: RunOptions['env']): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(LBCTL_|ETCDCTL_|NO_COLOR|FORCE_COLOR)/.test(name),
  );
  return { ...Object.fromEntries(inherited), ...extra };
}

/** A test that fails before it ends its processes must not leave them to the machine. */
const running = new Set<ChildProcess>();
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
});

export function start(args: readonly string[], options: RunOptions = {}): Live {
  return startNode([bin, ...args], options);
}

/** As `start`, for any program of Node's. */
export function startNode(args: readonly string[], options: RunOptions = {}): Live {
  const child = spawn(process.execPath, args, { env: environment(options.env), stdio: 'pipe' });
  running.add(child);
  const text = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (chunk: string) => {
      text[stream] += chunk;
      for (const check of [...waiting]) check();
    });
  }
  child.stdin.on('error', () => {});
  child.stdin.end(options.stdin ?? '');
  const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 60_000);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      running.delete(child);
      resolve({ code: code ?? 128 + (signal === 'SIGINT' ? 2 : signal === 'SIGTERM' ? 15 : 9), ...text });
      for (const check of [...waiting]) check();
    });
  });
  return {
    child,
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    ended,
    kill: () => void child.kill('SIGKILL'),
    waitFor: (pattern, { stream = 'stdout', timeoutMs = 30_000 } = {}) =>
      new Promise((resolve, reject) => {
        const wanted =
          typeof pattern === 'string' ? new RegExp(pattern.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')) : pattern;
        const fail = (why: string) => {
          settle();
          reject(
            new Error(
              `${why} while waiting for ${wanted} on ${stream}.\nstdout: ${text.stdout}\nstderr: ${text.stderr}`,
            ),
          );
        };
        const check = () => {
          const match = text[stream].match(wanted);
          if (match) {
            settle();
            resolve(match);
          } else if (child.exitCode !== null || child.signalCode !== null) fail('The process ended');
        };
        const limit = setTimeout(() => fail(`${timeoutMs} ms passed`), timeoutMs);
        const settle = () => {
          clearTimeout(limit);
          waiting.delete(check);
        };
        waiting.add(check);
        check();
      }),
  };
}

/** Runs lbctl to its end. */
export function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return start(args, options).ended;
}
