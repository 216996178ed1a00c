import type { Etcd } from '../etcd/port.js';
import { LbctlError } from '../model/errors.js';
import { similarNames } from '../model/similar.js';
import { listServices } from './list-services.js';
import type { DiscoveryOptions } from './service-ranges.js';

/** Names are a courtesy: a user who may not read all of etcd, or an etcd that went away, costs nobody this long. */
const suggestionsWithinMs = 1000;

/** The error for a service that nobody is registered for, with the names that may have been meant. */
export async function noInstances(etcd: Etcd, service: string, options: DiscoveryOptions = {}): Promise<LbctlError> {
  const names = await listServices(etcd, { ...options, timeoutMs: suggestionsWithinMs }).then(
    ({ services }) => services.map((entry) => entry.service),
    () => [],
  );
  const similar = similarNames(service, names);
  return new LbctlError('NO_INSTANCE', `No instance of "${service}" is registered`, {
    suggestions: [...similar.map((name) => `Did you mean ${name}?`), 'lbctl list'],
  });
}
