import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isAnyHost, isLoopback, joinHostPort, splitHostPort } from '../../dialects/address.js';
import { figureOutListenOn } from '../../discovery/advertised.js';
import { thisMachine, thisProcess } from '../../host/this-process.js';
import { type Clock, systemClock, type Timer } from '../../model/clock.js';
import { messageOf } from '../../model/errors.js';
import type { ServedClient } from './client.js';
import { ClientNames } from './client-names.js';
import { Connections } from './connections.js';
import { type Selection, statisticsDocument } from './document.js';
import { loadLibrary, metricsType, renderMetrics } from './prometheus.js';
import { Renderings } from './renderings.js';
import { knownPaths, methods, readRequest } from './request.js';
import { StatisticsStream } from './stream.js';

/** Who asks, and who reads an answer, gets this long. */
const requestMs = 5000;
const answerMs = 10_000;
const endMs = 1000;
const requestsAConnection = 100;
/** The process that is replaced by this one may have the port still. */
const bindAgainMs = 10_000;

const busy = 'Too many readers ask for different things at once. Ask again in a second.\n';

const otherHost = 'This is only served to who asks for it by a loopback address, or localhost.\n';
const plain = 'text/plain; charset=utf-8';
const contentTypes = { document: 'application/json', stream: 'application/x-ndjson', metrics: metricsType } as const;

/** What a client is told of its server. */
export interface ServerListener {
  /** It can be reached at this `host:port`. */
  readonly listening: (address: string) => void;
  /** It cannot be reached, and why; tried again until the client ends. One of the server's clients is told, once; null: not this one. */
  readonly failed: ((warning: string) => void) | null;
}

/**
 * Serves the statistics of clients on one address. It holds no process, and nothing that its readers do disturbs one: their
 * requests have deadlines, there are few of them, and who does not read is dropped.
 */
export class StatisticsServer {
  readonly #listenOn: string;
  readonly #clock: Clock;
  readonly #clients = new Map<ServedClient, ServerListener>();
  readonly #streams = new Set<StatisticsStream>();
  readonly #names: ClientNames;
  readonly #connections = new Connections();
  readonly #renderings: Renderings;
  #server: Server | null = null;
  #bindAgain: Timer | null = null;
  #address = '';
  /** Of this machine alone: a web page may have its own name lead here, and would read what its visitor may. */
  #isLoopback = false;
  #warning = '';
  #isTold = false;

  /** `listenOn` is `host:port`; port 0 is any that is free. */
  constructor(listenOn: string, names = new ClientNames(), clock: Clock = systemClock) {
    this.#listenOn = listenOn;
    this.#names = names;
    this.#clock = clock;
    this.#renderings = new Renderings(clock);
  }

  get isIdle(): boolean {
    return this.#clients.size === 0;
  }

  add(client: ServedClient, listener: ServerListener): void {
    this.#clients.set(client, listener);
    if (this.#server === null && this.#bindAgain === null) this.#bind();
    if (this.#address !== '') listener.listening(this.#address);
    else this.#tellWarning();
    this.changed();
  }

  remove(client: ServedClient): void {
    if (!this.#clients.delete(client)) return;
    if (this.isIdle) this.#end();
    else this.changed();
  }

  /** Who is there has changed. */
  changed(): void {
    this.#renderings.changed();
    for (const stream of this.#streams) stream.changed();
  }

  #bind(): void {
    this.#bindAgain = null;
    const limits = { headersTimeout: requestMs, requestTimeout: requestMs, keepAliveTimeout: requestMs };
    const server = createServer({ ...limits, connectionsCheckingInterval: 1000 });
    this.#server = server;
    server.maxRequestsPerSocket = requestsAConnection;
    server.on('request', (request, response) => void this.#answer(request, response));
    server.on('connection', (socket) => {
      socket.unref();
      this.#connections.opened(socket);
    });
    server.on('listening', () => this.#listening(server));
    server.on('error', (error) => this.#failed(server, messageOf(error)));
    const { host, port } = splitHostPort(this.#listenOn);
    // Without a host Node listens on every interface, with IPv6 where there is any.
    server.listen({ port: port ?? 0, ...(host !== '' && { host }) });
    server.unref();
  }

  #listening(server: Server): void {
    if (server !== this.#server) return;
    const { address, port } = server.address() as AddressInfo;
    this.#isLoopback = isLoopback(address);
    try {
      this.#address = advertised(this.#listenOn, port);
    } catch (error) {
      this.#warn(messageOf(error));
      return;
    }
    this.#warning = '';
    for (const { listening } of this.#clients.values()) listening(this.#address);
  }

  #failed(server: Server, cause: string): void {
    if (server !== this.#server) return;
    server.close();
    this.#server = null;
    this.#bindAgain = this.#clock.timer(bindAgainMs, () => this.#bind(), { background: true });
    this.#warn(cause);
  }

  #warn(cause: string): void {
    if (this.#warning !== '') return;
    this.#isTold = false;
    this.#warning = `The statistics of this program cannot be served on ${this.#listenOn}: ${cause}`;
    this.#tellWarning();
  }

  /** A program with a hundred clients has one port that is taken. */
  #tellWarning(): void {
    if (this.#warning === '' || this.#isTold) return;
    const [failed] = [...this.#clients.values()].flatMap((listener) => listener.failed ?? []);
    this.#isTold = failed !== undefined;
    failed?.(this.#warning);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    response.on('error', () => {});
    await this.#connections.turn(request, response);
    if (request.socket.destroyed) return;
    const limit = this.#clock.timer(answerMs, () => response.destroy(), { background: true });
    response.once('close', () => limit.cancel());
    try {
      const asked = readRequest(request.url ?? '');
      const isHead = request.method === 'HEAD';
      if (this.#isLoopback && !isLoopbackName(request.headers.host ?? '', this.#listenOn))
        return send(response, 403, plain, otherHost);
      if (asked.kind === 'unknown') return send(response, 404, plain, knownPaths);
      if (!methods.includes(request.method ?? '')) {
        response.setHeader('allow', methods.join(', '));
        return send(response, 405, plain, knownPaths);
      }
      if (isHead) return head(response, contentTypes[asked.kind]);
      if (asked.kind === 'stream') {
        limit.cancel();
        return this.#stream(response, asked, asked.intervalMs);
      }
      const isDocument = asked.kind === 'document';
      const text = await (isDocument ? this.#document(asked) : this.#metrics());
      if (text === null) return send(response, 503, plain, busy);
      send(response, 200, contentTypes[asked.kind], text);
    } catch (error) {
      // What goes wrong here is a fault of ours, and no reason for the program to end.
      if (response.headersSent) response.destroy();
      else send(response, 500, plain, `${messageOf(error)}\n`);
    }
  }

  #stream(response: ServerResponse, selection: Selection, intervalMs: number): void {
    response.writeHead(200, { 'content-type': contentTypes.stream, 'cache-control': 'no-store' });
    const stream = new StatisticsStream(response, () => this.#document(selection), intervalMs, this.#clock);
    this.#streams.add(stream);
    response.once('close', () => this.#streams.delete(stream));
  }

  #document({ service, traceOf }: Selection): Promise<Buffer> | null {
    return this.#renderings.text(JSON.stringify([service, traceOf]), () => {
      const by = { ...thisProcess(), nowMs: this.#clock.now() };
      return JSON.stringify(statisticsDocument(this.#clients.keys(), { service, traceOf }, by));
    });
  }

  async #metrics(): Promise<Buffer | null> {
    // Not counted in: it takes as long as many texts do, once.
    await loadLibrary();
    return this.#renderings.text('metrics', () => renderMetrics(this.#clients.keys(), this.#names));
  }

  #end(): void {
    this.#bindAgain?.cancel();
    this.#bindAgain = null;
    const server = this.#server;
    this.#server = null;
    this.#address = '';
    this.#warning = '';
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
    server?.close();
    // Answers that are under way may still be read.
    this.#clock.timer(endMs, () => server?.closeAllConnections(), { background: true });
  }
}

function advertised(listenOn: string, port: number): string {
  const { host } = splitHostPort(listenOn);
  return isAnyHost(host) ? figureOutListenOn(joinHostPort(host, port), thisMachine()) : joinHostPort(host, port);
}

/** By a `Host` header, or the lack of one: a browser always sends it. */
function isLoopbackName(hostHeader: string, listenOn: string): boolean {
  const { host } = splitHostPort(hostHeader);
  return hostHeader === '' || isLoopback(host.toLowerCase()) || host === splitHostPort(listenOn).host;
}

function head(response: ServerResponse, contentType: string): void {
  response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-store' });
  response.end();
}

function send(response: ServerResponse, code: number, contentType: string, text: string | Buffer): void {
  const headers = {
    'content-type': contentType,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  };
  response.writeHead(code, headers);
  response.end(text);
}
