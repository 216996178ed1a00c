import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ClientFigures, InstanceFigures, WindowFigures } from '../../src/core/stats/figures.js';

/** A process that serves the statistics of its clients, as a program with the library does. */
export interface StatisticsServer {
  /** `127.0.0.1:port`. */
  readonly address: string;
  /** What it tells from now on. */
  clients: readonly ClientFigures[];
  /** `silent`: streams stay open, and nothing comes. `garbage`: lines that are none. `refused`: HTTP 503. `endless`: no line end. */
  fault: 'none' | 'silent' | 'garbage' | 'refused' | 'endless';
  /** The queries of all streams so far. */
  readonly asked: URLSearchParams[];
  /** Streams that are open now. */
  open(): number;
  /** Breaks every stream. */
  cut(): void;
  close(): Promise<void>;
}

export async function startStatisticsServer(clients: readonly ClientFigures[] = []): Promise<StatisticsServer> {
  const streams = new Map<ServerResponse, NodeJS.Timeout>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://here');
    if (url.pathname !== '/statistics/stream' || it.fault === 'refused') return response.writeHead(503).end();
    it.asked.push(url.searchParams);
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    response.flushHeaders();
    const trace = url.searchParams.get('trace');
    const tell = () => {
      if (it.fault === 'silent') return;
      if (it.fault === 'garbage') return void response.write('{"hello": "world"}\n');
      if (it.fault === 'endless') return void response.write('x'.repeat(1 << 20));
      const told = it.clients.map((client) => ({
        ...client,
        trace: client.trace.filter(({ compared }) => compared.some(({ address }) => address === trace)),
      }));
      const line = JSON.stringify({
        schemaVersion: 1,
        host: 'here',
        pid: 1,
        at: '2026-11-30T00:00:00Z',
        clients: told,
      });
      // In two writes: a reader must not take a chunk for a line.
      response.write(line.slice(0, line.length / 2));
      response.write(`${line.slice(line.length / 2)}\n`);
    };
    tell();
    streams.set(response, setInterval(tell, Number(url.searchParams.get('intervalMs') ?? 1000)));
    response.on('close', () => {
      clearInterval(streams.get(response));
      streams.delete(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const it: StatisticsServer = {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    clients,
    fault: 'none',
    asked: [],
    open: () => streams.size,
    cut: () => {
      for (const response of streams.keys()) response.destroy();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return it;
}

type Windows = InstanceFigures['windows'];

export function windows(of: Partial<WindowFigures>, minute: Partial<WindowFigures> = of): Windows {
  const none: WindowFigures = { picks: 0, calls: 0, errors: 0, picksPerSecond: 0, latencyMs: null };
  return { 1: none, 10: { ...none, ...of }, 60: { ...none, ...minute } };
}

export function instanceFigures(address: string, of: Partial<InstanceFigures> = {}): InstanceFigures {
  return {
    address,
    isListed: true,
    inFlight: 0,
    picks: 0,
    forcePicks: 0,
    codes: {},
    ewmaMs: null,
    success: null,
    load: null,
    isReachable: true,
    circuit: 'closed',
    windows: windows({}),
    latencies: [],
    ...of,
  };
}

export function clientFigures(id: string, instances: readonly InstanceFigures[], of: Partial<ClientFigures> = {}) {
  return {
    id,
    client: id.replace(/-\w+$/, ''),
    host: 'here',
    pid: 1,
    service: 'shop.rpc',
    policy: 'p2c_ewma',
    at: '2026-11-30T00:00:00Z',
    instances,
    trace: [],
    ...of,
  } satisfies ClientFigures;
}
