/** The server over real sockets, with a client that counts. */
import { createServer as createHttpServer, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { createBalancer } from '../../../../src/core/balancer/policies.js';
import { ManagedBalancer } from '../../../../src/core/grpc/policies/managed-balancer.js';
import { LbctlError } from '../../../../src/core/model/errors.js';
import { ClientStatistics } from '../../../../src/core/stats/client-statistics.js';
import type { StatisticsDocument } from '../../../../src/core/stats/export/document.js';
import { StatisticsServer } from '../../../../src/core/stats/export/server.js';
import { checkedListenOn } from '../../../../src/core/stats/export/servers.js';
import { StatisticsStream } from '../../../../src/core/stats/export/stream.js';
import { ManualClock } from '../../../support/manual-clock.js';
import { until } from '../../../support/until.js';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

const loopback = '127.0.0.1:0';

function counted(service: string, addresses: readonly string[], { policy = 'p2c_ewma', client = 'shop' } = {}) {
  const balancer = new ManagedBalancer(createBalancer(policy));
  balancer.update(addresses.map((address) => ({ address })));
  const statistics = new ClientStatistics(policy, balancer);
  statistics.identify({ service, client });
  endings.push(() => statistics.end());
  const call = (code = 0) => {
    const reservation = balancer.reserve();
    reservation.started();
    reservation.ended({ code });
    return reservation.address;
  };
  return { balancer, statistics, call };
}

async function served(of: ClientStatistics, listenOn = loopback): Promise<string> {
  of.serve(listenOn);
  await until(() => of.address !== '', 5000, 'the server');
  return of.address;
}

const fetched = async (at: string, path: string) => {
  const response = await fetch(`http://${at}${path}`);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
};
const documentAt = async (at: string, query = '') =>
  JSON.parse((await fetched(at, `/statistics${query}`)).text) as StatisticsDocument;

interface Reading {
  readonly documents: StatisticsDocument[];
  /** Monotonic ms at which each came. */
  readonly times: number[];
  isEnded: boolean;
}

function read(at: string, query = ''): Reading {
  const reading: Reading = { documents: [], times: [], isEnded: false };
  const request = get(`http://${at}/statistics/stream${query}`, { agent: false }, (response: IncomingMessage) => {
    response.on('error', () => {});
    const lines = createInterface({ input: response }).on('error', () => {});
    lines.on('line', (line) => {
      reading.documents.push(JSON.parse(line));
      reading.times.push(performance.now());
    });
    response.on('close', () => {
      reading.isEnded = response.complete;
    });
  });
  request.on('error', () => {});
  endings.push(() => request.destroy());
  return reading;
}

function raw(at: string): { readonly socket: Socket; text: string; isClosed: boolean } {
  const [host = '', port = ''] = at.split(':');
  const socket = connect(Number(port), host);
  const seen = { socket, text: '', isClosed: false };
  socket.on('data', (data) => (seen.text += String(data)));
  socket.on('close', () => {
    seen.isClosed = true;
  });
  socket.on('error', () => {});
  endings.push(() => socket.destroy());
  return seen;
}

describe('/statistics', () => {
  it('tells all clients of the process that are served there, or those of one service', async () => {
    const [greet, user] = [counted('greet.rpc', ['a:1', 'b:1']), counted('user.rpc', ['c:1'])];
    const at = await served(greet.statistics);
    expect(await served(user.statistics)).toBe(at);
    const chosen = [greet.call(0), greet.call(14)];
    const document = await documentAt(at);
    expect(document).toMatchObject({ schemaVersion: 1, pid: process.pid });
    expect(document.clients.map(({ service }) => service)).toEqual(['greet.rpc', 'user.rpc']);
    expect(document.clients[0]).toMatchObject({ client: 'shop', policy: 'p2c_ewma', pid: process.pid, trace: [] });
    const rows = document.clients[0]?.instances ?? [];
    for (const { address, picks, windows } of rows) {
      expect(picks).toBe(chosen.filter((one) => one === address).length);
      expect(windows[1]).toMatchObject({ picks, calls: picks });
    }
    expect((await documentAt(at, '?service=user.rpc')).clients).toMatchObject([{ service: 'user.rpc' }]);
    expect((await documentAt(at, '?service=none')).clients).toEqual([]);
  });

  it('tells the last comparisons of the address that is asked for', async () => {
    const { statistics, call } = counted('greet.rpc', ['a:1', 'b:1']);
    const at = await served(statistics);
    const chosen = Array.from({ length: 20 }, () => call());
    const [client] = (await documentAt(at, '?trace=a:1')).clients;
    expect(client?.trace.map((pick) => pick.chosen)).toEqual(chosen.reverse().slice(0, 16));
    expect(Math.abs(Date.parse(client?.trace[0]?.at ?? '') - Date.now())).toBeLessThan(5000);
    expect((await documentAt(at)).clients[0]?.trace).toEqual([]);
  });

  it('answers anything else with the paths there are, and says nothing of what it was asked', async () => {
    const at = await served(counted('greet.rpc', ['a:1']).statistics);
    const answer = await fetched(at, '/<script>alert(1)</script>');
    expect(answer).toMatchObject({ status: 404, type: 'text/plain; charset=utf-8' });
    expect(answer.text).toContain('GET /metrics');
    expect(answer.text).not.toContain('script');
    expect((await fetch(`http://${at}/statistics`, { method: 'POST', body: 'x'.repeat(100_000) })).status).toBe(405);
    const odd = raw(at);
    odd.socket.write('GET // HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await until(() => odd.text.startsWith('HTTP/1.1 404'), 2000, 'an answer');
    const broken = raw(at);
    broken.socket.write('\0\0\0\r\n\r\n');
    await until(() => broken.isClosed, 2000, 'the end');
    expect((await documentAt(at)).clients).toHaveLength(1);
  });
});

describe('a request', () => {
  it('may look whether a path is there; any other method is refused with those there are', async () => {
    const at = await served(counted('greet.rpc', ['a:1']).statistics);
    const asked = async (method: string, path: string) => {
      const response = await fetch(`http://${at}${path}`, { method });
      const { status, headers } = response;
      return [
        status,
        headers.get('content-type'),
        headers.get('allow'),
        method === 'HEAD' ? await response.text() : '',
      ];
    };
    expect(await asked('HEAD', '/statistics')).toEqual([200, 'application/json', null, '']);
    expect(await asked('HEAD', '/statistics/stream')).toEqual([200, 'application/x-ndjson', null, '']);
    expect((await asked('HEAD', '/metrics'))[0]).toBe(200);
    expect((await asked('HEAD', '/other'))[0]).toBe(404);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      expect(await asked(method, '/metrics')).toEqual([405, 'text/plain; charset=utf-8', 'GET, HEAD', '']);
    }
  });

  it('of a page whose name leads to this machine is refused where only this machine may read', async () => {
    const at = await served(counted('greet.rpc', ['a:1']).statistics);
    const status = async (host: string | null, of = at) => {
      const asking = raw(of);
      const version = host === null ? 'HTTP/1.0\r\n' : `HTTP/1.1\r\nhost: ${host}\r\n`;
      asking.socket.write(`GET /statistics ${version}connection: close\r\n\r\n`);
      await until(() => asking.text.includes('\r\n\r\n'), 2000, 'an answer');
      return Number(asking.text.split(' ')[1]);
    };
    for (const host of [at, 'localhost:80', 'LOCALHOST', '127.0.0.9', '[::1]:80', null])
      expect(await status(host)).toBe(200);
    for (const host of ['evil.example', '127.0.0.1.evil.example:80', 'localhost.evil', '10.0.0.1']) {
      expect(await status(host)).toBe(403);
    }
    const { statistics } = counted('greet.rpc', ['a:1']);
    const port = (await served(statistics, '0.0.0.0:0')).split(':')[1];
    expect(await status('web-7.example', `127.0.0.1:${port}`)).toBe(200);
  });
});

describe('/metrics', () => {
  it('is the text that Prometheus reads, with what was counted', async () => {
    const { statistics, call } = counted('greet.rpc', ['a:1'], { client: 'told' });
    const at = await served(statistics);
    for (const code of [0, 0, 14]) call(code);
    const { text, type } = await fetched(at, '/metrics');
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
    const labels = 'service="greet.rpc",client="told",policy="p2c_ewma",address="a:1"';
    const lines = text.split('\n');
    expect(lines).toContain(`lbctl_client_attempts_total{${labels},code="OK"} 2`);
    expect(lines).toContain(`lbctl_client_attempts_total{${labels},code="UNAVAILABLE"} 1`);
    expect(lines).toContain(`lbctl_client_picks_total{${labels}} 3`);
    expect(lines).toContain(`lbctl_client_in_flight{${labels}} 0`);
    expect(lines).toContain(`lbctl_client_latency_seconds_bucket{le="+Inf",${labels}} 3`);
    expect(lines).toContain(`lbctl_client_latency_seconds_count{${labels}} 3`);
    const bucket = /^lbctl_client_latency_seconds_bucket\{le="([\d.]+)",.*\} (\d+)$/;
    const buckets = lines
      .map((line) => bucket.exec(line))
      .flatMap((found) => (found ? [found.slice(1).map(Number)] : []));
    expect(buckets).toHaveLength(16);
    expect(buckets.at(-1)).toEqual([16.384, 3]);
    expect(buckets.map(([le]) => le)).toEqual(Array.from({ length: 16 }, (_, i) => expect.closeTo(0.0005 * 2 ** i, 9)));
  });

  it('keeps apart two clients of one name, and each keeps its name for its life', async () => {
    const [first, second] = [1, 2].map(() => counted('greet.rpc', ['a:1'], { client: 'twin' }));
    if (!first || !second) throw new Error('two');
    first.call();
    const at = await served(first.statistics);
    await served(second.statistics);
    const series = async (from: string) => {
      const { text } = await fetched(from, '/metrics');
      const found = text.matchAll(/^lbctl_client_picks_total\{.*client="(twin[^"]*)".*\} (\d+)/gm);
      return [...found].map(([, name, picks]) => `${name}: ${picks}`);
    };
    expect(await series(at)).toEqual(['twin: 1', 'twin-2: 0']);
    first.statistics.end();
    expect(await series(at)).toEqual(['twin-2: 0']);
    second.statistics.end();
    // Both channels were idle, and the second is back first: what counts is there still, what serves it is new.
    const again = (of: { readonly balancer: ManagedBalancer }) => {
      const statistics = new ClientStatistics('p2c_ewma', of.balancer);
      statistics.identify({ service: 'greet.rpc', client: 'twin' });
      endings.push(() => statistics.end());
      return statistics;
    };
    const later = await served(again(second));
    expect(await series(later)).toEqual(['twin-2: 0']);
    await served(again(first));
    expect(await series(later)).toEqual(['twin-2: 0', 'twin: 1']);
  });
});

describe('/statistics/stream', () => {
  it('tells at once, then at its interval', async () => {
    const at = await served(counted('greet.rpc', ['a:1']).statistics);
    const reading = read(at, '?intervalMs=100&service=greet.rpc');
    await until(() => reading.documents.length >= 6, 5000, 'six documents');
    const [start = 0] = reading.times;
    // Five intervals; a busy machine may take longer, none may be shorter.
    expect((reading.times[5] ?? 0) - start).toBeGreaterThan(450);
    expect(reading.documents[5]?.clients).toMatchObject([{ service: 'greet.rpc' }]);
  });

  it('tells at once that the list of instances changed, at most ten times a second', async () => {
    const { statistics, balancer } = counted('greet.rpc', ['a:1']);
    const reading = read(await served(statistics), '?intervalMs=10000');
    await until(() => reading.documents.length === 1, 5000, 'the first document');
    const until2 = performance.now() + 1000;
    let updates = 0;
    for (; performance.now() < until2; updates++) {
      balancer.update([{ address: 'a:1' }, { address: `b:${updates}` }]);
      statistics.listChanged();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const last = { address: `b:${updates - 1}` };
    await until(
      () => reading.documents.at(-1)?.clients[0]?.instances[1]?.address === last.address,
      2000,
      'the last list',
    );
    expect(updates).toBeGreaterThan(50);
    expect(reading.documents.length).toBeGreaterThan(5);
    expect(reading.documents.length).toBeLessThanOrEqual(13);
  });

  it('ends with the last client, and the port is free again', async () => {
    const { statistics } = counted('greet.rpc', ['a:1']);
    const other = counted('user.rpc', ['b:1']);
    const at = await served(statistics);
    await served(other.statistics);
    const reading = read(at);
    await until(() => reading.documents.length === 1, 5000, 'a document');
    other.statistics.end();
    await until(() => reading.documents.at(-1)?.clients.length === 1, 2000, 'the end of one client');
    expect(reading.isEnded).toBe(false);
    statistics.end();
    await until(() => reading.isEnded, 2000, 'the end of the stream');
    await expect(fetch(`http://${at}/statistics`)).rejects.toThrow();
    const again = counted('greet.rpc', ['a:1']);
    expect(await served(again.statistics, at)).toBe(at);
  });

  it('writes no more than its socket takes for a reader that does not read, and drops it after 10 s', async () => {
    const clock = new ManualClock();
    let rendered = 0;
    let isDropped = false;
    const server = createHttpServer((_, response) => {
      response.writeHead(200);
      response.on('close', () => {
        isDropped = true;
      });
      const render = () => {
        rendered++;
        return Promise.resolve(Buffer.alloc(1e6));
      };
      new StatisticsStream(response, render, 1000, clock);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    endings.push(() => server.close().closeAllConnections());
    const lazy = raw(`127.0.0.1:${(server.address() as AddressInfo).port}`);
    lazy.socket.pause();
    lazy.socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await until(() => rendered === 1, 2000, 'the request');
    let seconds = 0;
    let last = 0;
    for (; !isDropped && seconds < 100; seconds++) {
      if (rendered > last) [last, seconds] = [rendered, 0];
      await clock.advance(1000);
    }
    // The kernel buffers some MB.
    expect(rendered).toBeLessThan(40);
    expect(isDropped).toBe(true);
    expect(seconds).toBeGreaterThanOrEqual(9);
    expect(seconds).toBeLessThan(13);
    expect(clock.pending).toBe(0);
  });
});

describe('a port that is taken', () => {
  it('disturbs nobody, is said once, and is tried again', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    endings.push(() => blocker.close());
    const taken = `127.0.0.1:${(blocker.address() as AddressInfo).port}`;
    const clock = new ManualClock();
    const server = new StatisticsServer(taken, undefined, clock);
    const told: string[] = [];
    const clients = [counted('greet.rpc', ['a:1']), counted('user.rpc', ['b:1'])].map(({ statistics }) => statistics);
    const add = (index: number) => {
      const client = clients[index];
      if (client === undefined) return;
      endings.push(() => server.remove(client));
      server.add(client, {
        listening: (address) => told.push(`${index} on ${address}`),
        failed: (warning) => told.push(`${index}: ${warning}`),
      });
    };
    add(0);
    await until(() => told.length === 1, 2000, 'a warning');
    add(1);
    await clock.advance(10_000);
    await clock.advance(10_000);
    await new Promise((resolve) => blocker.close(resolve));
    await clock.advance(10_000);
    await until(() => told.length === 3, 2000, 'another try');
    expect(told).toEqual([
      expect.stringContaining(`0: The statistics of this program cannot be served on ${taken}`),
      `0 on ${taken}`,
      `1 on ${taken}`,
    ]);
    for (const client of clients) server.remove(client);
    await clock.advance(1000);
    expect(clock.pending).toBe(0);
  });

  it('that a client says through `serve` is told to its onWarning', async () => {
    const blocker = createServer();
    await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
    endings.push(() => blocker.close());
    const taken = `127.0.0.1:${(blocker.address() as AddressInfo).port}`;
    const warnings: string[] = [];
    const { statistics } = counted('greet.rpc', ['a:1']);
    statistics.serve(taken, (warning) => warnings.push(warning));
    await until(() => warnings.length === 1, 2000, 'a warning');
    expect([warnings[0]?.includes(taken), statistics.address]).toEqual([true, '']);
  });
});

it('has 64 connections; those that ask nothing make room for a new one, and end within some seconds', async () => {
  const at = await served(counted('greet.rpc', ['a:1']).statistics);
  const reading = read(at, '?intervalMs=100');
  await until(() => reading.documents.length > 0, 2000, 'a reader');
  const silent: ReturnType<typeof raw>[] = [];
  for (let count = 0; count < 100; count++) {
    const one = raw(at);
    one.socket.write('GET /statistics HTTP/1.1\r\n');
    silent.push(one);
    await until(() => !one.socket.connecting, 2000, 'a connection');
  }
  await until(() => silent.filter(({ isClosed }) => isClosed).length === 37, 2000, 'the end of those too many');
  expect(silent.slice(0, 37).every(({ isClosed }) => isClosed)).toBe(true);
  expect((await documentAt(at)).clients).toHaveLength(1);
  await until(() => silent.every(({ isClosed }) => isClosed), 10_000, 'the end of the silent ones');
  expect(reading.isEnded).toBe(false);
});

it('refuses a new connection while all are answered', async () => {
  const at = await served(counted('greet.rpc', ['a:1']).statistics);
  const readings = Array.from({ length: 64 }, () => read(at, '?intervalMs=100'));
  await until(() => readings.every(({ documents }) => documents.length > 0), 5000, 'all readers');
  const more = raw(at);
  await until(() => more.isClosed, 2000, 'the end of one too many');
});

describe('one that asks a lot', () => {
  it('at once has its answers one after the other, a hundred at most, while the program goes on', async () => {
    const { statistics, call } = counted(
      'greet.rpc',
      Array.from({ length: 50 }, (_, index) => `10.0.0.${index}:80`),
    );
    for (let calls = 0; calls < 2000; calls++) call();
    const at = await served(statistics);
    // The library is loaded, and the pause after that is over.
    await fetched(at, '/metrics');
    const greedy = raw(at);
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    turn();
    greedy.socket.write('GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'.repeat(300));
    await until(() => greedy.text.includes('HTTP/1.1 503'), 15_000, 'the first one too many');
    isOver = true;
    expect(greedy.text.split('HTTP/1.1 200').length - 1).toBe(100);
    // Each of its answers waits for a turn of the event loop.
    expect(turns).toBeGreaterThan(100);
    const rendered = new Set(greedy.text.split(/HTTP\/1\.1 \d+ /).map((answer) => answer.split('\r\n\r\n')[1]));
    expect(rendered.size).toBeLessThan(10);
  });

  it('does not hold up another, and streams of one selection are one text', async () => {
    const { statistics, call } = counted('greet.rpc', ['a:1']);
    const at = await served(statistics);
    const readings = Array.from({ length: 30 }, () => read(at, '?intervalMs=100'));
    await until(() => readings.every(({ documents }) => documents.length >= 10), 5000, 'ten documents each');
    call();
    const taken = readings.flatMap(({ documents }) => documents.slice(0, 10).map((document) => document.at));
    // Thirty readers at the price of one, or two where a document falls between two of another.
    expect(new Set(taken).size).toBeLessThan(30);
    await until(async () => (await documentAt(at)).clients[0]?.instances[0]?.picks === 1, 2000, 'the call');
  });
});

describe('where it listens', () => {
  it('is told as others reach it: every interface as an address of this machine', async () => {
    const { statistics } = counted('greet.rpc', ['a:1']);
    const before = process.env.POD_IP;
    process.env.POD_IP = '127.0.0.1';
    try {
      const at = await served(statistics, '0.0.0.0:0');
      expect(at).toMatch(/^127\.0\.0\.1:\d+$/);
      expect((await documentAt(at)).clients).toHaveLength(1);
    } finally {
      if (before === undefined) delete process.env.POD_IP;
      else process.env.POD_IP = before;
    }
  });

  it('is a host and a port', () => {
    expect(['127.0.0.1:0', ':9400', '[::1]:80'].map(checkedListenOn)).toEqual(['127.0.0.1:0', ':9400', '[::1]:80']);
    for (const wrong of ['9400', 'localhost', 'a b:1', '::1', '1.2.3.4:65536', 'http://x:1']) {
      expect(() => checkedListenOn(wrong), wrong).toThrow(LbctlError);
    }
  });
});

it('says with its own clock when figures were taken', () => {
  const clock = new ManualClock();
  const statistics = new ClientStatistics('random', new ManagedBalancer(createBalancer('random')), clock);
  expect(statistics.figures(null).at).toBe(new Date(clock.now()).toISOString());
});
