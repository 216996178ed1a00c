/** The part of the Kubernetes API that serves EndpointSlices, on a real socket: list, watch, bookmarks, and its refusals. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface FakePod {
  readonly ip: string;
  readonly ready?: boolean;
  readonly terminating?: boolean;
  readonly zone?: string;
}

export interface FakeSlice {
  readonly pods: readonly FakePod[] | null;
  readonly ports?: readonly { name?: string; port?: number; protocol?: string }[] | null;
  readonly service?: string;
  readonly namespace?: string;
}

interface Stored {
  readonly namespace: string;
  readonly object: { metadata: { name: string; labels: Record<string, string>; resourceVersion: string } };
}

interface Watcher {
  readonly response: ServerResponse;
  readonly namespace: string;
  readonly selector: string;
}

const isJust = (name: string) => `kubernetes.io/service-name=${name}`;

export class KubernetesApi {
  /** `list`, `watch 12` (its resourceVersion), in the order in which they came. */
  readonly requests: string[] = [];
  /** What a request must carry as bearer token; null: anything goes. */
  token: string | null = null;
  /** Refuses this verb with 403. */
  forbidden: 'list' | 'watch' | null = null;
  /** Takes requests and answers none. */
  isSilent = false;
  /** Leaves out what the client asks for: ends no watch by itself. */
  ignoresTimeouts = false;
  readonly #folder = mkdtempSync(join(tmpdir(), 'lbctl-kubernetes-'));
  readonly #server = createServer((request, response) => this.#serve(request, response));
  readonly #sockets = new Set<Socket>();
  readonly #watchers = new Set<Watcher>();
  readonly #slices = new Map<string, Stored>();
  readonly #history: { version: number; type: string; stored: Stored }[] = [];
  #version = 100;
  #oldest = 0;
  #port = 0;

  async start(): Promise<this> {
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  /** Connections break off, new ones are refused, until `start`. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.drop();
    await closed;
  }

  async end(): Promise<void> {
    if (this.#server.listening) await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** All connections break off. */
  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** A kubeconfig for this server, whose token is read from the file that `rotate` writes. */
  get kubeconfig(): string {
    const path = join(this.#folder, 'config');
    const cluster = { server: `http://127.0.0.1:${this.#port}`, 'insecure-skip-tls-verify': true };
    const user = { 'auth-provider': { name: 'tokenFile', config: { tokenFile: join(this.#folder, 'token') } } };
    // JSON is YAML.
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'fake' },
      clusters: [{ name: 'fake', cluster }],
      users: [{ name: 'fake', user }],
      contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'fake' } }],
    };
    writeFileSync(path, JSON.stringify(config));
    if (this.token === null) writeFileSync(join(this.#folder, 'token'), 'any');
    return path;
  }

  /** From now on only this token counts; it is in the account's file already. */
  rotate(token: string): void {
    writeFileSync(join(this.#folder, 'token'), token);
    this.token = token;
  }

  /** The newest resourceVersion. */
  get version(): number {
    return this.#version;
  }

  get watching(): number {
    return this.#watchers.size;
  }

  put(name: string, { pods, ports, service = 'greet', namespace = 'default' }: FakeSlice): void {
    const key = `${namespace}/${name}`;
    const type = this.#slices.has(key) ? 'MODIFIED' : 'ADDED';
    const object = {
      metadata: { name, namespace, labels: { 'kubernetes.io/service-name': service }, resourceVersion: '' },
      addressType: pods?.some((pod) => pod.ip.includes(':')) ? 'IPv6' : 'IPv4',
      ports: ports === undefined ? [{ name: '', port: 8080, protocol: 'TCP' }] : ports,
      endpoints:
        pods?.map(({ ip, ready, terminating, zone }) => ({
          addresses: [ip],
          conditions: { ...(ready === undefined ? {} : { ready }), ...(terminating ? { terminating } : {}) },
          ...(zone === undefined ? {} : { zone }),
        })) ?? null,
    };
    this.#happened(type, { namespace, object });
  }

  delete(name: string, namespace = 'default'): void {
    const stored = this.#slices.get(`${namespace}/${name}`);
    if (stored) this.#happened('DELETED', structuredClone(stored));
  }

  /** Tells every watcher the newest version, as the server does about once a minute. */
  bookmark(): void {
    this.#version++;
    const object = {
      kind: 'EndpointSlice',
      metadata: { resourceVersion: String(this.#version), creationTimestamp: null },
    };
    for (const watcher of this.#watchers) send(watcher, 'BOOKMARK', object);
  }

  /** Forgets history: watches from before are gone. `tell` ends open ones with an ERROR event, as an overtaken server does. */
  compact({ tell = false } = {}): void {
    this.#version++;
    this.#oldest = this.#version;
    this.#history.length = 0;
    if (!tell) return;
    for (const watcher of this.#watchers) send(watcher, 'ERROR', gone);
    this.endWatches();
  }

  /** Ends all watches in peace, as their time-out does. */
  endWatches(): void {
    for (const { response } of this.#watchers) response.end();
    this.#watchers.clear();
  }

  #happened(type: string, stored: Stored): void {
    this.#version++;
    stored.object.metadata.resourceVersion = String(this.#version);
    const key = `${stored.namespace}/${stored.object.metadata.name}`;
    if (type === 'DELETED') this.#slices.delete(key);
    else this.#slices.set(key, stored);
    this.#history.push({ version: this.#version, type, stored });
    for (const watcher of this.#watchers) if (concerns(watcher, stored)) send(watcher, type, stored.object);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://api');
    const namespace = /^\/apis\/discovery\.k8s\.io\/v1\/namespaces\/([^/]+)\/endpointslices$/.exec(url.pathname)?.[1];
    const verb = url.searchParams.get('watch') === 'true' ? 'watch' : 'list';
    const version = url.searchParams.get('resourceVersion') ?? '';
    this.requests.push(verb === 'watch' ? `watch ${version}` : 'list');
    if (this.isSilent) return;
    const refuse = (code: number, reason: string, message: string) => {
      response.writeHead(code, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ kind: 'Status', status: 'Failure', code, reason, message }));
    };
    if (namespace === undefined) {
      refuse(404, 'NotFound', 'the server could not find the requested resource');
      return;
    }
    if (this.token !== null && request.headers.authorization !== `Bearer ${this.token}`) {
      refuse(401, 'Unauthorized', 'Unauthorized');
      return;
    }
    if (this.forbidden === verb) {
      const message = `endpointslices.discovery.k8s.io is forbidden: User "greeter" cannot ${verb} resource "endpointslices"`;
      refuse(403, 'Forbidden', message);
      return;
    }
    const watcher = { response, namespace, selector: url.searchParams.get('labelSelector') ?? '' };
    if (verb === 'list') {
      const items = [...this.#slices.values()]
        .filter((stored) => concerns(watcher, stored))
        .map(({ object }) => object);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ metadata: { resourceVersion: String(this.#version) }, items }));
      return;
    }
    if (Number(version) < this.#oldest) {
      refuse(410, 'Expired', gone.message);
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    for (const { version: at, type, stored } of this.#history) {
      if (at > Number(version) && concerns(watcher, stored)) send(watcher, type, stored.object);
    }
    this.#watchers.add(watcher);
    const seconds = Number(url.searchParams.get('timeoutSeconds') ?? 3600);
    const timer = this.ignoresTimeouts ? undefined : setTimeout(() => response.end(), seconds * 1000);
    response.on('close', () => {
      clearTimeout(timer);
      this.#watchers.delete(watcher);
    });
  }
}

const gone = { kind: 'Status', status: 'Failure', code: 410, reason: 'Expired', message: 'too old resource version' };

function concerns({ namespace, selector }: Watcher, stored: Stored): boolean {
  return (
    stored.namespace === namespace &&
    selector === isJust(stored.object.metadata.labels['kubernetes.io/service-name'] ?? '')
  );
}

function send({ response }: Watcher, type: string, object: unknown): void {
  response.write(`${JSON.stringify({ type, object })}\n`);
}
