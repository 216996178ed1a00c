/**
 * The contract suite runs each case on the embedded registry and on a real etcd: where they differ, one of them lies.
 * Where versions of etcd differ, a case asserts what 3.4 to 3.7 agree on.
 */
import { execFileSync } from 'node:child_process';
import { Etcd3, type IOptions } from 'etcd3';
import { afterAll, beforeAll, describe } from 'vitest';
import { startEmbedded } from '../../src/embedded/server.js';
import { startEtcd } from '../support/etcd-process.js';

export interface Target {
  readonly endpoint: string;
  readonly client: Etcd3;
  /** A key prefix that no other case uses. */
  prefix(): string;
}

interface Running {
  readonly endpoint: string;
  stop(): Promise<unknown>;
}

const starters: Record<string, () => Promise<Running>> = {
  'the embedded registry': async () => {
    const server = await startEmbedded();
    return { endpoint: server.endpoint, stop: () => server.close() };
  },
  'a real etcd': async () => {
    const server = await startEtcd();
    return { endpoint: server.endpoint, stop: () => server.stop() };
  },
};

type Policy = NonNullable<NonNullable<IOptions['faultHandling']>['global']>;

/** Each call once: a retry by the client would hide what the server said. */
const once: Policy = {
  onSuccess: () => ({ dispose() {} }),
  onFailure: () => ({ dispose() {} }),
  // Exists in the type only.
  _altReturn: undefined as never,
  execute: async (call, signal) => call({ signal: signal ?? new AbortController().signal }),
};

/** Defines the cases twice. A server of their own is shared by the cases of one file. */
export function onEveryTarget(cases: (target: Target) => void): void {
  for (const [name, start] of Object.entries(starters)) {
    const skip = name === 'a real etcd' && missing('etcd', process.env.LBCTL_TEST_ETCD);
    describe.skipIf(skip)(skip ? `${name} (skipped: no etcd on PATH)` : name, () => {
      let running: Running | undefined;
      let client: Etcd3 | undefined;
      let prefixes = 0;
      beforeAll(async () => {
        running = await start();
        client = connect(running.endpoint);
      });
      afterAll(async () => {
        client?.close();
        await running?.stop();
      });
      cases({
        get endpoint() {
          return started(running).endpoint;
        },
        get client() {
          return started(client);
        },
        prefix: () => `case${++prefixes}/`,
      });
    });
  }
}

export function connect(endpoint: string): Etcd3 {
  return new Etcd3({
    hosts: endpoint,
    faultHandling: { host: () => once, global: once },
    grpcOptions: { 'grpc.max_receive_message_length': 64 << 20, 'grpc.max_send_message_length': 64 << 20 },
  });
}

/** In CI nothing is skipped: there the missing program makes the case fail. */
export function missing(program: string, override?: string): boolean {
  if (process.env.CI === 'true') return false;
  try {
    execFileSync(override || program, [program === 'etcdctl' ? 'version' : '--version'], { stdio: 'ignore' });
    return false;
  } catch {
    return true;
  }
}

function started<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('asked for before the server was started');
  return value;
}
