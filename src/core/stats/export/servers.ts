import { joinHostPort, splitHostPort } from '../../dialects/address.js';
import { LbctlError } from '../../model/errors.js';
import type { ServedClient } from './client.js';
import { ClientNames } from './client-names.js';
import { type ServerListener, StatisticsServer } from './server.js';

/** One for all clients of this process that are served on one address. */
const servers = new Map<string, StatisticsServer>();
/** Of all of them: a server ends when its clients are idle, their names do not. */
const names = new ClientNames();

/** A client that is served. */
export interface Serving {
  /** Its list of instances has changed: readers of the stream are told at once. */
  changed(): void;
  /** The server ends with its last client. Idempotent. */
  end(): void;
}

/** Never throws and never waits: `listener` is told what came of it. */
export function serveStatistics(listenOn: string, client: ServedClient, listener: ServerListener): Serving {
  const server = servers.get(listenOn) ?? new StatisticsServer(listenOn, names);
  servers.set(listenOn, server);
  server.add(client, listener);
  return {
    changed: () => server.changed(),
    end() {
      server.remove(client);
      if (server.isIdle && servers.get(listenOn) === server) servers.delete(listenOn);
    },
  };
}

/**
 * A `host:port` to listen on, in the one spelling by which it is shared.
 * @throws USAGE
 */
export function checkedListenOn(text: string): string {
  const { host, port, unbracketed } = splitHostPort(text);
  if (port !== null && port <= 65_535 && !unbracketed && !/[\s\p{C}/]/u.test(host)) return joinHostPort(host, port);
  throw new LbctlError('USAGE', `${JSON.stringify(text)} is not an address to serve statistics on`, {
    suggestions: ['Write HOST:PORT, as 127.0.0.1:9400; port 0 is any that is free, 0.0.0.0 every interface.'],
  });
}
