/** A TCP proxy on loopback that stands between a client and etcd and can cut, limit or refuse what goes through it. */
import { connect, createServer, type Socket } from 'node:net';

export interface CutProxy {
  /** `http://127.0.0.1:port`. */
  readonly endpoint: string;
  /** Connections that are open now. */
  readonly open: number;
  /** Breaks every connection, and every new one at once, until `heal`. */
  cut(): void;
  heal(): void;
  /** Heals, but breaks the first connections (`times`) on which etcd sends more than this, in front of what is too much. */
  healWithLimit(bytes: number, times: number): void;
  close(): Promise<void>;
}

export async function startCutProxy(targetPort: number): Promise<CutProxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let limit = { bytes: 0, times: 0 };
  let open = 0;

  const server = createServer((client) => {
    client.on('error', () => {});
    if (isCut) return client.destroy();
    const upstream = connect(targetPort, '127.0.0.1');
    upstream.on('error', () => {});
    open++;
    let ended = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
      if (ended) return;
      ended = true;
      open--;
      sockets.delete(client);
    };
    let received = 0;
    upstream.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (limit.times === 0 || received <= limit.bytes) return;
      limit.times--;
      end();
    });
    sockets.add(client);
    client.on('close', end);
    upstream.on('close', end);
    client.pipe(upstream);
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  const heal = () => {
    isCut = false;
    limit = { bytes: 0, times: 0 };
  };
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    endpoint: `http://127.0.0.1:${port}`,
    get open() {
      return open;
    },
    cut() {
      isCut = true;
      destroyAll();
    },
    heal,
    healWithLimit(bytes, times) {
      heal();
      limit = { bytes, times };
    },
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      destroyAll();
      return closed;
    },
  };
}
