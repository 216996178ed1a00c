import type { Etcd } from '../etcd/port.js';
import type { Instance } from '../model/instance.js';
import { addedCause, changedCause, type LeaseFate, pausedCause, RecentlyGone, removedCause } from './causes.js';
import type { InstanceChange } from './changes.js';
import { joinCluster, type Membership } from './cluster.js';
import { type DiscoveryPorts, systemPorts } from './ports.js';
import type { DiscoveryOptions } from './service-ranges.js';

/** What kind of event it is. */
export type ServiceEventType =
  | 'SNAPSHOT'
  | 'SYNCED'
  | 'ADDED'
  | 'REMOVED'
  | 'CHANGED'
  | 'PAUSED'
  | 'RESUMED'
  | 'RESYNC'
  | 'STALE'
  | 'LIVE';

/** One thing that happened to a service. */
export interface ServiceEvent {
  /** What happened. */
  readonly type: ServiceEventType;
  /** The etcd revision it belongs to. */
  readonly revision: bigint;
  /** Empty for SYNCED, RESYNC, STALE and LIVE. */
  readonly address: string;
  /** For people: `registered`, `expired or revoked`, `paused by ann: deploy`… */
  readonly cause: string;
  /** As it is now (REMOVED: as it was); null for SYNCED, RESYNC, STALE and LIVE. */
  readonly instance: Instance | null;
  /** As it was before, perhaps under another key; null when there was nothing of it. */
  readonly previous: Instance | null;
}

/** How long the word on a lease may hold up the event itself. */
const fateWithinMs = 100;
const mostFatesAtOnce = 32;

/**
 * Follows a service as events, in order: a SNAPSHOT for each instance, SYNCED, then what happens. Survives outages
 * (STALE, LIVE) and lost history (RESYNC, then the differences).
 * @returns once the events up to SYNCED were told.
 * @throws USAGE for a name that cannot be; ETCD_* when the first load fails.
 */
export async function observeService(
  etcd: Etcd,
  service: string,
  listener: (event: ServiceEvent) => void,
  options: DiscoveryOptions & { onWarning?: (warning: string) => void } = {},
  ports: DiscoveryPorts = systemPorts,
): Promise<Membership> {
  let open = true;
  let revision = 0n;
  const gone = new RecentlyGone(ports.clock);
  const tell = (event: ServiceEvent) => {
    if (open) listener(event);
  };
  const plain = (type: ServiceEventType, cause: string) =>
    tell({ type, revision, address: '', cause, instance: null, previous: null });
  /** Asking for a lease takes a moment; whatever comes meanwhile waits its turn. Null: nothing is waiting. */
  let queue: Promise<void> | null = null;
  const inTurn = (work: () => Promise<void> | undefined) => {
    const run = () => {
      if (open) return work();
    };
    const next = queue ? queue.then(run) : run();
    if (!next) return;
    const mine: Promise<void> = next.finally(() => {
      if (queue === mine) queue = null;
    });
    queue = mine;
  };

  const changed = (changes: readonly InstanceChange[], upTo: bigint, reload: string | null) => {
    revision = upTo;
    if (reload !== null) plain('RESYNC', reload);
    const leases = leasesToAsk(changes);
    if (leases.length === 0) return void tellAll(changes, new Map());
    return fates(etcd, leases, ports).then((known) => tellAll(changes, known));
  };
  const tellAll = (changes: readonly InstanceChange[], known: ReadonlyMap<bigint, LeaseFate>) => {
    const replaced = replacedAddresses(changes);
    for (const change of changes) {
      const cause = causeOf(change, known, gone, replaced);
      tell({
        type: change.type,
        revision: change.revision,
        address: change.instance.address,
        cause,
        instance: change.instance,
        previous: change.previous,
      });
    }
  };

  const membership = await joinCluster(
    etcd,
    service,
    {
      current: (instances, at, warnings) => {
        revision = at;
        for (const warning of warnings) options.onWarning?.(warning);
        for (const instance of instances) {
          tell({ type: 'SNAPSHOT', revision, address: instance.address, cause: 'present', instance, previous: null });
        }
        plain('SYNCED', `${instances.length} instances`);
      },
      changed: (changes, upTo, reload) => inTurn(() => changed(changes, upTo, reload)),
      stale: (reason) => inTurn(() => void plain('STALE', reason)),
      live: () => inTurn(() => void plain('LIVE', 'etcd answers again')),
    },
    options,
    ports,
  );
  return {
    get staleForMs() {
      return membership.staleForMs;
    },
    close: () => {
      open = false;
      return membership.close();
    },
  };
}

/** `revision address` of what came in the very revision in which something else at its address went. */
function replacedAddresses(changes: readonly InstanceChange[]): ReadonlySet<string> {
  return new Set(
    changes.filter(({ type }) => type === 'ADDED').map((one) => `${one.revision} ${one.instance.address}`),
  );
}

function causeOf(
  change: InstanceChange,
  fates: ReadonlyMap<bigint, LeaseFate>,
  gone: RecentlyGone,
  replaced: ReadonlySet<string>,
): string {
  const { type, instance, previous } = change;
  switch (type) {
    case 'ADDED':
      return addedCause(instance, gone);
    case 'REMOVED':
      gone.add(instance);
      if (replaced.has(`${change.revision} ${instance.address}`)) return 'replaced by a new registration';
      return removedCause(instance, fates.get(instance.lease?.id ?? 0n) ?? 'unknown');
    case 'CHANGED':
      return previous ? changedCause(previous, instance) : 'changed';
    case 'PAUSED':
      return pausedCause(instance);
    case 'RESUMED':
      return instance.pause?.cameBack ? 'came back: its owner registered it again in spite of the pause' : 'resumed';
  }
}

/** The leases of what was removed: whether one still lives tells a deletion from an expiry. */
function leasesToAsk(changes: readonly InstanceChange[]): readonly bigint[] {
  const ids = new Set<bigint>();
  for (const { type, instance } of changes) if (type === 'REMOVED' && instance.lease) ids.add(instance.lease.id);
  return [...ids].slice(0, mostFatesAtOnce);
}

async function fates(etcd: Etcd, ids: readonly bigint[], ports: DiscoveryPorts): Promise<Map<bigint, LeaseFate>> {
  const known = new Map<bigint, LeaseFate>();
  const ending = new AbortController();
  const asked = ids.map(async (id) => {
    const info = await etcd.leaseInfo(id, { timeoutMs: fateWithinMs, signal: ending.signal });
    known.set(id, info.remainingSeconds < 0 ? 'gone' : 'alive');
  });
  await new Promise<void>((resolve) => {
    const timer = ports.clock.timer(fateWithinMs, resolve);
    void Promise.allSettled(asked).then(() => {
      timer.cancel();
      resolve();
    });
  });
  ending.abort();
  return known;
}
