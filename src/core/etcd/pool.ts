import { setMaxListeners } from 'node:events';
import type { Clock, Rng } from '../model/clock.js';
import { LbctlError } from '../model/errors.js';
import { EndpointBalancer } from './balancer.js';
import type { Core } from './core.js';
import { connectionKey, parseEndpoints } from './endpoints.js';
import { EtcdHandle } from './handle.js';
import { type Host, makeHosts } from './link.js';
import type { Etcd, EtcdSettings, Header } from './port.js';
import { authenticate } from './reads.js';
import { TokenSource } from './token.js';
import { UnaryRunner } from './unary.js';

/** One connection per distinct settings, however many use it: its hosts dial once, its token is fetched once. */
export class ConnectionPool {
  readonly #clock: Clock;
  readonly #rng: Rng;
  readonly #shared = new Map<string, SharedConnection>();

  constructor(clock: Clock, rng: Rng) {
    this.#clock = clock;
    this.#rng = rng;
  }

  /** @throws USAGE for a wrong endpoint, ETCD_CERTIFICATE for unusable PEM data. Nothing is dialled yet. */
  acquire(settings: EtcdSettings): Etcd {
    const key = connectionKey(settings);
    const shared = this.#shared.get(key) ?? new SharedConnection(settings, this.#clock, this.#rng);
    this.#shared.set(key, shared);
    shared.users++;
    return new EtcdHandle(shared, () => {
      shared.users--;
      if (shared.users > 0) return;
      this.#shared.delete(key);
      shared.close();
    });
  }
}

class SharedConnection implements Core {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly balancer: EndpointBalancer<Host>;
  readonly unary: UnaryRunner;
  readonly tokens: TokenSource | null;
  readonly user: string | undefined;
  readonly dialTimeoutMs: number;
  lastHeader: Header | null = null;
  users = 0;
  readonly #closing = new AbortController();

  constructor(settings: EtcdSettings, clock: Clock, rng: Rng) {
    const { auth, dialTimeoutMs = 2000, commandTimeoutMs = 5000 } = settings;
    // Each call under way listens; Node would warn of a leak at the eleventh.
    setMaxListeners(0, this.#closing.signal);
    this.clock = clock;
    this.rng = rng;
    this.user = auth?.user;
    this.dialTimeoutMs = dialTimeoutMs;
    this.balancer = new EndpointBalancer(makeHosts(parseEndpoints(settings), settings), clock, rng);
    this.unary = new UnaryRunner({
      ...{ clock, rng, dialTimeoutMs, commandTimeoutMs, balancer: this.balancer, user: auth?.user },
      tokens: () => this.tokens,
      closing: this.#closing.signal,
    });
    this.tokens = auth ? new TokenSource(() => this.#authenticate(auth.user, auth.password)) : null;
  }

  close(): void {
    this.#closing.abort();
    for (const host of this.balancer.all) host.close();
  }

  async #authenticate(name: string, password: string): Promise<string> {
    const token = await this.unary.call({
      what: `authenticate as ${name}`,
      repeat: 'safe',
      anonymous: true,
      run: (link, options) => link.read(authenticate, { name, password }, options),
    });
    if (token === '') throw new LbctlError('ETCD_AUTH_FAILED', `etcd gave no token to user ${name}`);
    return token;
  }
}
