import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import {
  type CallOptions,
  Channel,
  type ChannelCredentials,
  Client,
  connectivityState,
  credentials,
} from '@grpc/grpc-js';
import type { Etcd3 } from 'etcd3';
import type { Clock } from '../model/clock.js';
import { LbctlError, messageOf } from '../model/errors.js';
import { type Endpoint, urlOf } from './endpoints.js';
import type { EtcdSettings } from './port.js';
import type { ReadMethod } from './reads.js';

const channelOptions = {
  // A page of a list may hold large values; etcd sets no limit on what it sends.
  'grpc.max_receive_message_length': 64 << 20,
  // By default grpc waits up to 2 minutes between attempts: an etcd that is back must be found at once.
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 500,
  'grpc.dns_min_time_between_resolutions_ms': 1000,
  // A connection of its own for each channel: a new channel then really is a new connection.
  'grpc.use_local_subchannel_pool': 1,
  // As etcdctl: a proxy for the web is no way to etcd.
  'grpc.enable_http_proxy': 0,
  // Finds dead connections that carry no call (a laptop that slept). etcd refuses pings below 5 s.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3000,
};

/** One connection to one endpoint. It closes when it was retired and its last call has ended. */
export class Link {
  readonly #address: string;
  readonly #channel: Channel;
  readonly #client: Client;
  #etcd3: Etcd3 | null = null;
  #calls = 0;
  #retired = false;

  constructor(endpoint: Endpoint, channelCredentials: ChannelCredentials) {
    this.#address = endpoint.address;
    this.#channel = new Channel(endpoint.address, channelCredentials, {
      ...channelOptions,
      ...(ipOf(endpoint) === null ? {} : { 'grpc.ssl_target_name_override': nameForIp }),
    });
    this.#client = new Client(endpoint.address, channelCredentials, { channelOverride: this.#channel });
  }

  /** Reads without etcd3. */
  read<Request, Answer>(method: ReadMethod<Request, Answer>, request: Request, options: CallOptions): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(method.path, method.encode, method.decode, request, options, (error, answer) => {
        if (answer === undefined) reject(error ?? new Error('etcd sent no answer'));
        else resolve(answer);
      });
    });
  }

  /** Writes, leases and watches. */
  async etcd3(): Promise<Etcd3> {
    const { thinClients } = await import('./thin-clients.js');
    this.#etcd3 ??= thinClients(this.#address, this.#channel);
    return this.#etcd3;
  }

  begin(): this {
    this.#calls++;
    return this;
  }

  end(): void {
    this.#calls--;
    if (this.#retired && this.#calls === 0) this.close();
  }

  retire(): void {
    this.#retired = true;
    if (this.#calls === 0) this.close();
  }

  close(): void {
    this.#channel.close();
  }

  /**
   * True as soon as the channel is connected or knows why it cannot be (the next call then fails at once and says
   * so); false when neither happened within `timeoutMs`: nobody answers there.
   */
  settle(timeoutMs: number, clock: Clock): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = clock.timer(timeoutMs, () => resolve(false));
      const look = () => {
        const closed = this.#channel.getConnectivityState(false) === connectivityState.SHUTDOWN;
        const state = closed ? connectivityState.SHUTDOWN : this.#channel.getConnectivityState(true);
        if (state === connectivityState.IDLE || state === connectivityState.CONNECTING) {
          this.#channel.watchConnectivityState(state, Infinity, look);
          return;
        }
        timer.cancel();
        resolve(true);
      };
      look();
    });
  }
}

/**
 * TLS lets a client name a host but not an address (RFC 6066), and Node warns on stderr when it does. So an endpoint
 * given as an address names this host, and its certificate is checked for the address.
 */
const nameForIp = 'localhost';

function ipOf(endpoint: Endpoint): string | null {
  const host = endpoint.address.slice(0, endpoint.address.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? null : host;
}

type Purpose = 'unary' | 'streams';

/** One endpoint with its two connections: a failed call must not take the streams down with it. */
export class Host {
  readonly endpoint: Endpoint;
  readonly #credentials: ChannelCredentials;
  readonly #links = new Map<Purpose, Link>();
  readonly #onRefused = new Set<() => void>();

  constructor(endpoint: Endpoint, channelCredentials: ChannelCredentials) {
    this.endpoint = endpoint;
    this.#credentials = channelCredentials;
  }

  get address(): string {
    return this.endpoint.address;
  }

  /** Begins a call: the caller must `end()` the link after it. */
  begin(purpose: Purpose): Link {
    const link = this.#links.get(purpose) ?? new Link(this.endpoint, this.#credentials);
    this.#links.set(purpose, link);
    return link.begin();
  }

  /** Gives up on a connection that has gone silent: the next call dials a new one, calls under way keep the old one. */
  renew(purpose: Purpose): void {
    this.#links.get(purpose)?.retire();
    this.#links.delete(purpose);
  }

  /** Calls `fn` when the endpoint refuses a new connection; returns the way to stop that. */
  whenRefused(fn: () => void): () => void {
    this.#onRefused.add(fn);
    return () => this.#onRefused.delete(fn);
  }

  /**
   * On SIGTERM etcd 3.6 and later close their port and serve the open streams for 7 s more, signs of life included:
   * a refused connection is how a stream learns that its server is leaving.
   */
  refused(): void {
    this.renew('streams');
    for (const fn of [...this.#onRefused]) fn();
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
  }
}

/** @throws ETCD_CERTIFICATE when the given PEM data cannot be used. */
export function makeHosts(endpoints: readonly Endpoint[], settings: EtcdSettings): Host[] {
  return endpoints.map((endpoint) => new Host(endpoint, credentialsFor(endpoint, settings)));
}

function credentialsFor(endpoint: Endpoint, { tls = {} }: EtcdSettings): ChannelCredentials {
  if (!endpoint.secure) return credentials.createInsecure();
  const ip = ipOf(endpoint);
  try {
    return credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null, {
      rejectUnauthorized: tls.skipVerify !== true,
      ...(ip === null ? {} : { checkServerIdentity: (_: string, certificate) => checkServerIdentity(ip, certificate) }),
    });
  } catch (error) {
    throw new LbctlError(
      'ETCD_CERTIFICATE',
      `The certificates for ${urlOf(endpoint)} cannot be used: ${messageOf(error)}`,
      {
        cause: error,
        suggestions: ['Give PEM files: --cacert FILE, and --cert FILE together with --tls-key FILE.'],
      },
    );
  }
}
