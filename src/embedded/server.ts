import { createServer } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { type Clock, systemClock } from '../core/model/clock.js';
import { LbctlError, messageOf } from '../core/model/errors.js';
import { authService, clusterService, maintenanceService } from './admin-service.js';
import { kvService } from './kv-service.js';
import { leaseService } from './lease-service.js';
import { loadServices } from './proto.js';
import { Registry } from './registry.js';
import { watchService } from './watch-service.js';

const farewellMs = 200;

export interface EmbeddedOptions {
  /** `host:port`; port 0 takes a free one. Default `127.0.0.1:0`: nobody but this machine reaches it. */
  readonly listen?: string;
  readonly clock?: Clock;
}

export interface EmbeddedEtcd {
  /** `http://host:port`. */
  readonly endpoint: string;
  /** Ends every stream and connection within 200 ms and forgets everything. Idempotent. */
  close(): Promise<void>;
}

/**
 * An etcd v3 API in this process, for development, demonstrations and tests: it keeps nothing, knows no TLS and no users.
 * @throws USAGE when it cannot listen there.
 */
export async function startEmbedded(options: EmbeddedOptions = {}): Promise<EmbeddedEtcd> {
  const { host, port } = parseListen(options.listen ?? '127.0.0.1:0');
  const registry = new Registry(options.clock ?? systemClock);
  const services = loadServices();
  // Too large a message is refused in etcd's own words (calls.ts), so grpc-js must let it through.
  const server = new Server({ 'grpc.max_receive_message_length': -1 });
  let endpoint = '';
  server.addService(services('KV'), kvService(registry));
  server.addService(services('Watch'), watchService(registry));
  server.addService(services('Lease'), leaseService(registry));
  server.addService(services('Maintenance'), maintenanceService(registry));
  server.addService(
    services('Cluster'),
    clusterService(registry, () => endpoint),
  );
  server.addService(services('Auth'), authService(registry));
  const bound = await bind(server, host, port);
  // Who listens on every address is reached through the loopback one.
  const reachable = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }[host] ?? host;
  endpoint = `http://${reachable}:${bound}`;
  let closed: Promise<void> | undefined;
  return {
    endpoint,
    close() {
      closed ??= shutDown(server, registry);
      return closed;
    },
  };
}

/** Tells every stream why it ends; who does not read that within a moment is cut off. */
function shutDown(server: Server, registry: Registry): Promise<void> {
  registry.close();
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, farewellMs);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

async function bind(server: Server, host: string, port: number): Promise<number> {
  try {
    // grpc-js prints a failed bind to stderr and hides its reason, so a socket tries the address first.
    await tryListen(host, port);
    return await new Promise((resolve, reject) => {
      server.bindAsync(`${host}:${port}`, ServerCredentials.createInsecure(), (error, bound) => {
        if (error) reject(error);
        else resolve(bound);
      });
    });
  } catch (error) {
    server.forceShutdown();
    throw new LbctlError('USAGE', `Cannot listen on ${host}:${port}: ${messageOf(error)}`, {
      suggestions: [`Listen on another port, or on a free one: ${host}:0`],
      cause: error,
    });
  }
}

function tryListen(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createServer();
    socket.once('error', reject);
    socket.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port }, () => socket.close(() => resolve()));
  });
}

function parseListen(listen: string): { host: string; port: number } {
  const [, host, digits] = /^(.+):(\d{1,5})$/.exec(listen) ?? [];
  const port = Number(digits);
  if (host === undefined || port > 65_535 || (host.includes(':') && !host.startsWith('['))) {
    throw new LbctlError('USAGE', `"${listen}" is not an address to listen on`, {
      suggestions: ['Write host:port, like 127.0.0.1:2379, or [::1]:0 for any free port.'],
    });
  }
  return { host, port };
}
