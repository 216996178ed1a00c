/** A TCP proxy on a free loopback port that can lose answers, hang, and cut: faults between a client and a healthy server. */
import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  /** `127.0.0.1:port`. */
  readonly address: string;
  /** Connections accepted since the start. */
  readonly accepted: number;
  /** From now on requests pass and answers vanish. */
  loseAnswers(): void;
  /** Resets the next `times` connections on which the server sends more than this, in front of what is too much. */
  limitAnswers(bytes: number, times: number): void;
  /** Everything passes again, on new connections and old ones. */
  heal(): void;
  /** Resets all connections; new ones are accepted, or (`refuse`) closed at once until `heal()`. */
  cut(options?: { refuse?: boolean }): void;
  close(): Promise<void>;
}

export async function startProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let losing = false;
  let refusing = false;
  let accepted = 0;
  let limit = { bytes: 0, times: 0 };
  const server = createServer((client) => {
    accepted++;
    if (refusing) return client.destroy();
    const upstream = connect(targetPort, '127.0.0.1');
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    client.on('data', (chunk) => upstream.write(chunk));
    let answered = 0;
    upstream.on('data', (chunk) => {
      answered += chunk.length;
      if (limit.times > 0 && answered > limit.bytes) {
        limit.times--;
        return end();
      }
      if (!losing) client.write(chunk);
      return undefined;
    });
    for (const socket of pair) socket.on('close', end).on('error', end);
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const cut = () => {
    for (const [client, upstream] of pairs) {
      client.destroy();
      upstream.destroy();
    }
  };
  return {
    address: `127.0.0.1:${port}`,
    get accepted() {
      return accepted;
    },
    loseAnswers() {
      losing = true;
    },
    limitAnswers(bytes, times) {
      limit = { bytes, times };
    },
    heal() {
      losing = false;
      refusing = false;
      limit = { bytes: 0, times: 0 };
    },
    cut({ refuse = false } = {}) {
      refusing = refuse;
      cut();
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}

/** A port that accepts connections and never says a word. */
export async function startSilentPort(): Promise<{ address: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => socket.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    address: `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
