import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Metadata } from '@grpc/grpc-js';
import { afterEach } from 'vitest';
import type { Candidate } from '../../../src/core/balancer/balancer.js';
import { type ClientSettings, clientOptions } from '../../../src/core/grpc/client/client-options.js';
import { ClientState } from '../../../src/core/grpc/policies/client-state.js';
import type { Attempt } from '../../../src/core/grpc/policies/managed-balancer.js';
import { EchoClient } from '../../support/grpc-client.js';
import { type EchoHandler, type EchoServer, startEchoServer } from '../../support/grpc-server.js';
import { ManualList } from '../../support/manual-resolver.js';

const cleanUps: Array<() => unknown> = [];

export function cleanUp(work: () => unknown): void {
  cleanUps.push(work);
}

afterEach(async () => {
  for (const work of cleanUps.splice(0)) await work();
});

/** One server for each handler; undefined stands for an echo. */
export async function servers(...handlers: Array<EchoHandler | undefined>): Promise<EchoServer[]> {
  const started = await Promise.all(handlers.map((handler) => startEchoServer(handler)));
  for (const server of started) cleanUp(() => server.stop());
  return started;
}

/** Accepts connections and never says a word on them: they stay half open. */
export async function silentServer(port = 0) {
  const sockets = new Set<Socket>();
  let accepted = 0;
  const server = createServer((socket) => {
    accepted++;
    sockets.add(socket.on('error', () => {}));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const stop = (): void => {
    server.close();
    cut();
  };
  cleanUp(stop);
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { address, accepted: (): number => accepted, cut, stop };
}

export interface Connected {
  readonly client: EchoClient;
  readonly list: ManualList;
  readonly state: ClientState;
  /** Those that ended, oldest first. */
  readonly attempts: Attempt[];
}

export function connect(instances: readonly Candidate[], settings: ClientSettings, channelOptions = {}): Connected {
  const attempts: Attempt[] = [];
  const state = settings.state ?? new ClientState({ onAttempt: (attempt) => attempts.push(attempt) });
  const list = new ManualList(instances);
  const client = new EchoClient(list.target, { ...clientOptions({ ...settings, state }), ...channelOptions });
  cleanUp(() => client.close());
  return { client, list, state, attempts };
}

export function inFlight(state: ClientState): number[] {
  return state.inspect().map((row) => row.inFlight);
}

export function picks(state: ClientState): number[] {
  return state.inspect().map((row) => row.picks);
}

export function withKey(key: string, header = 'x-lb-hash-key'): Metadata {
  const metadata = new Metadata();
  metadata.set(header, key);
  return metadata;
}
