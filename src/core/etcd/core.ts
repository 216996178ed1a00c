import type { Clock, Rng } from '../model/clock.js';
import type { EndpointBalancer } from './balancer.js';
import type { Host } from './link.js';
import type { Header } from './port.js';
import type { TokenSource } from './token.js';
import type { UnaryRunner } from './unary.js';

/** What one shared connection gives to its watches and leases. */
export interface Core {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly balancer: EndpointBalancer<Host>;
  readonly unary: UnaryRunner;
  /** Null when no account was given. */
  readonly tokens: TokenSource | null;
  readonly user: string | undefined;
  readonly dialTimeoutMs: number;
  /** Of the last answer to a read or write; null before the first. */
  lastHeader: Header | null;
}
