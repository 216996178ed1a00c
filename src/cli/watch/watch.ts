import { noInstances } from '../../core/discovery/no-instances.js';
import { observeService, type ServiceEvent } from '../../core/discovery/observe.js';
import type { DiscoveryOptions } from '../../core/discovery/service-ranges.js';
import type { Etcd } from '../../core/etcd/port.js';
import { type Clock, systemClock } from '../../core/model/clock.js';
import type { LbctlError } from '../../core/model/errors.js';
import { instanceDocument } from '../instance-document.js';
import type { Lifetime } from '../lifetime.js';
import { document, toJson } from '../output/structured.js';
import { InstanceSet } from './instance-set.js';
import type { WatchLine } from './lines.js';
import { type Debounce, OnChange } from './on-change.js';

export interface WatchOptions {
  readonly discovery: DiscoveryOptions;
  /** Ends after the snapshot. */
  readonly once: boolean;
  readonly exec: { readonly command: string; readonly debounce: Debounce; readonly initial: boolean } | null;
  readonly lifetime: Lifetime;
  show(line: WatchLine): void;
  tell(line: string): void;
}

/** From SIGTERM to SIGKILL, for a command that a newer change replaces or that outlives us. */
const killAfterMs = 2000;

/**
 * Shows what happens to a service until the process is asked to end.
 * @returns NO_INSTANCE when it ended after an empty snapshot, else null.
 * @throws USAGE, ETCD_* when the first load fails.
 */
export async function watchService(
  etcd: Etcd,
  service: string,
  options: WatchOptions,
  clock: Clock = systemClock,
): Promise<LbctlError | null> {
  const { lifetime, exec } = options;
  const set = new InstanceSet();
  let revision = 0n;
  const runner =
    exec &&
    new OnChange({
      ...exec,
      clock,
      killAfterMs,
      tell: options.tell,
      input: () => `${toJson(document({ service, revision, instances: set.instances().map(instanceDocument) }))}\n`,
    });
  if (runner) lifetime.defer(() => runner.close());

  const listener = (event: ServiceEvent) => {
    set.apply(event);
    revision = event.revision;
    options.show({ ...event, service, atMs: clock.now(), totals: set.totals });
    if (event.instance && event.type !== 'SNAPSHOT') runner?.changed();
  };
  const membership = await observeService(etcd, service, listener, {
    ...options.discovery,
    onWarning: (warning) => options.tell(`Warning: ${warning}`),
  });
  lifetime.defer(() => membership.close());
  if (exec?.initial) runner?.changed();
  if (options.once) return set.instances().length === 0 ? noInstances(etcd, service, options.discovery) : null;
  await lifetime.interrupted();
  return null;
}
