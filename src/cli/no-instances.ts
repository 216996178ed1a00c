import { listServices } from '../core/discovery/list-services.js';
import type { DiscoveryOptions } from '../core/discovery/service-ranges.js';
import type { Etcd } from '../core/etcd/port.js';
import { LbctlError } from '../core/model/errors.js';
import { similarNames } from './similar.js';

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
