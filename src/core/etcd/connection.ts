import { type Clock, type Rng, systemClock, systemRng } from '../model/clock.js';
import { parseEndpoints } from './endpoints.js';
import type { ConnectionPool } from './pool.js';
import type { Etcd, EtcdSettings } from './port.js';

let processPool: Promise<ConnectionPool> | null = null;

/**
 * A handle on the connection to etcd that all users of equal settings in this process share. Nothing is dialled before
 * the first call, so a watcher or publisher may start while etcd is away. With `deps` the connection is not shared.
 * @throws USAGE for a wrong endpoint, ETCD_CERTIFICATE for unusable PEM data.
 */
export async function connect(settings: EtcdSettings, deps?: { clock?: Clock; rng?: Rng }): Promise<Etcd> {
  parseEndpoints(settings);
  if (deps) return (await newPool(deps.clock ?? systemClock, deps.rng ?? systemRng)).acquire(settings);
  processPool ??= newPool(systemClock, systemRng);
  return (await processPool).acquire(settings);
}

/** Loading gRPC takes about as long as starting Node, which a program that never connects should not pay. */
async function newPool(clock: Clock, rng: Rng): Promise<ConnectionPool> {
  const { ConnectionPool } = await import('./pool.js');
  return new ConnectionPool(clock, rng);
}
