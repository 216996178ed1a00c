import { Dashboard } from '../../core/dashboard/dashboard.js';
import type { Feed } from '../../core/dashboard/feed.js';
import type { Registry } from '../../core/dashboard/registry.js';
import type { DashboardSource } from '../../core/dashboard/source.js';
import { noInstances } from '../../core/discovery/no-instances.js';
import type { Etcd, EtcdSettings } from '../../core/etcd/port.js';
import { type Clock, sleep, systemClock } from '../../core/model/clock.js';
import type { DashboardInput, DashboardRequest } from './request.js';

export interface EndingSource extends DashboardSource {
  /** Its frames were made long ago: each is news, and there are no others. */
  readonly isRecorded?: boolean;
  /** Goes to its end at once. */
  hurry?(): void;
}

export interface Surroundings {
  /** How etcd is reached. */
  settings(): Promise<EtcdSettings>;
  /** The one connection. */
  connection(): Promise<Etcd>;
  tell(line: string): void;
}

/** A first frame without what the files hold would be an empty one; one that never ends must not hold it up for ever. */
const catchUpMs = 2000;

/** @throws NO_INSTANCE with similar names, USAGE, ETCD_*. */
export async function openSource(request: DashboardRequest, surroundings: Surroundings): Promise<EndingSource> {
  const { input, record, intervalMs } = request;
  const source = await openInput(input, intervalMs, surroundings);
  if (record === null) return source;
  try {
    const { RecordedSource } = await import('../../core/dashboard/recording/record.js');
    return await RecordedSource.open(record, source, intervalMs, systemClock);
  } catch (error) {
    await source.close();
    throw error;
  }
}

async function openInput(input: DashboardInput, intervalMs: number, surroundings: Surroundings): Promise<EndingSource> {
  if (input.kind === 'log') return openLog(input, surroundings);
  if (input.kind === 'replay') {
    const { ReplaySource } = await import('../../core/dashboard/recording/replay.js');
    return ReplaySource.open(input.file, systemClock);
  }
  const settings = await surroundings.settings();
  const connection = await surroundings.connection();
  const registry = await openRegistry(connection, input.service, surroundings);
  try {
    if (registry.rows().length === 0) throw await noInstances(connection, input.service);
    const feed = await openFeed(input, intervalMs, settings, connection);
    const context = settings.endpoints.join(',');
    return new Dashboard({ service: input.service, context, registry, feed, clock: systemClock });
  } catch (error) {
    await registry.close();
    throw error;
  }
}

async function openFeed(
  input: Extract<DashboardInput, { service: string }> & { kind: 'probe' | 'observers' },
  intervalMs: number,
  settings: EtcdSettings,
  etcd: Etcd,
): Promise<Feed> {
  const { service } = input;
  if (input.kind === 'observers') {
    const { ObserversFeed } = await import('../../core/dashboard/observers/observers-feed.js');
    return new ObserversFeed({ etcd, service, view: input.observer, intervalMs, clock: systemClock });
  }
  const { ProbeFeed, usualProbeRate } = await import('../../core/dashboard/probe/probe-feed.js');
  const { callsPerSecond: asked } = input;
  const callsPerSecond = asked === null ? usualProbeRate : () => asked;
  return new ProbeFeed({ etcd: settings, service, callsPerSecond, clock: systemClock });
}

async function openLog(
  { service, files, stdin }: Extract<DashboardInput, { kind: 'log' }>,
  surroundings: Surroundings,
  clock: Clock = systemClock,
): Promise<EndingSource> {
  const { LogFeed } = await import('../../core/dashboard/log/log-feed.js');
  const settings = service === null ? null : await surroundings.settings();
  const registry = service === null ? null : await openRegistry(await surroundings.connection(), service, surroundings);
  const feed = new LogFeed({ files, stdin: stdin ? process.stdin : null }, clock);
  if (registry) feed.restrict((address) => registry.hasKnown(address));
  await Promise.race([feed.caughtUp, sleep(clock, catchUpMs)]);
  const inputs = [...files, ...(stdin ? ['stdin'] : [])].join(',');
  const context = settings ? `${settings.endpoints.join(',')} ${inputs}` : inputs;
  return new Dashboard({ service: service ?? '', context, registry, feed, clock });
}

async function openRegistry(etcd: Etcd, service: string, { tell }: Surroundings): Promise<Registry> {
  const { Registry } = await import('../../core/dashboard/registry.js');
  return Registry.open(etcd, service, { onWarning: (warning) => tell(`Warning: ${warning}`) });
}
