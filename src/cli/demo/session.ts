import { Dashboard } from '../../core/dashboard/dashboard.js';
import { ObserversFeed } from '../../core/dashboard/observers/observers-feed.js';
import { Registry } from '../../core/dashboard/registry.js';
import type { DashboardSource } from '../../core/dashboard/source.js';
import { Publisher } from '../../core/discovery/publisher.js';
import { connect } from '../../core/etcd/connection.js';
import { observationsEnded } from '../../core/grpc/resolvers/observation.js';
import { formatTarget } from '../../core/grpc/target.js';
import { thisProcess } from '../../core/host/this-process.js';
import { systemClock } from '../../core/model/clock.js';
import { LbctlError } from '../../core/model/errors.js';
import { samplePath, startSampleFleet } from '../../embedded/sample-fleet.js';
import { startEmbedded } from '../../embedded/server.js';
import type { Actions } from '../../ui/dashboard/options.js';
import { dashboardActions } from '../dashboard/actions.js';
import type { Lifetime } from '../lifetime.js';
import { ownName } from '../own-name.js';
import { keepRestarting } from './restless.js';
import { startTraffic } from './traffic.js';

export const demoService = 'demo.rpc';
export const demoClients = ['shop', 'search', 'mobile'];
export const callsPerSecondEach = 40;
const policy = 'p2c_ewma';
const restlessName = 'restless';

export interface DemoSession {
  /** `http://127.0.0.1:2379`: where other terminals find the registry. */
  readonly endpoint: string;
  readonly dashboard: DashboardSource;
  readonly actions: Actions;
  close(): Promise<void>;
}

interface DemoSettings {
  readonly version: string;
  /** From frame to frame of the dashboard. */
  readonly intervalMs: number;
  readonly lifetime: Lifetime;
}

/**
 * Everything of the demo in this process: registry, five instances, their registrations, three clients with traffic.
 * @param listen Where the registry listens; absent: the usual port of etcd when it is free, else any.
 * @throws what the registry throws when `listen` cannot be had.
 */
export async function startDemo(
  listen: string | undefined,
  { version, intervalMs, lifetime }: DemoSettings,
): Promise<DemoSession> {
  const cleanups: Array<() => unknown> = [];
  const close = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const registry = await startRegistry(listen);
    cleanups.push(() => registry.close());
    const fleet = await startSampleFleet();
    cleanups.push(() => fleet.close());
    const etcd = await connect({ endpoints: [registry.endpoint] });
    cleanups.push(() => etcd.close());
    const owner = { ...thisProcess(), version };
    const publishers = fleet.instances.map(({ address, weight, zone, name }) => ({
      name,
      create: () => new Publisher(etcd, { service: demoService, address, id: name, owner, weight, zone }),
    }));
    const registered = await Promise.all(
      publishers.map(async ({ name, create }) => {
        const publisher = create();
        await publisher.start();
        return name === restlessName ? keepRestarting(publisher, create) : publisher;
      }),
    );
    cleanups.push(() => Promise.all(registered.map((one) => one.stop())));
    const target = formatTarget({ scheme: 'etcd', hosts: [registry.endpoint], key: demoService });
    const traffic = startTraffic({
      target,
      path: samplePath,
      policy,
      clients: demoClients,
      callsPerSecond: callsPerSecondEach,
    });
    cleanups.push(() => traffic.stop().then(observationsEnded));
    const rows = await Registry.open(etcd, demoService);
    const feed = new ObserversFeed({ etcd, service: demoService, view: null, intervalMs, clock: systemClock });
    const context = registry.endpoint;
    const dashboard = new Dashboard({ service: demoService, context, registry: rows, feed, clock: systemClock });
    cleanups.push(() => dashboard.close());
    const actions = dashboardActions({
      service: () => demoService,
      endpoints: [registry.endpoint],
      flags: {},
      program: ownName(),
      connect: async () => etcd,
      lifetime,
    });
    return { endpoint: registry.endpoint, dashboard, actions, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startRegistry(listen: string | undefined) {
  if (listen !== undefined) return startEmbedded({ listen });
  try {
    return await startEmbedded({ listen: '127.0.0.1:2379' });
  } catch (error) {
    if (!(error instanceof LbctlError)) throw error;
    return startEmbedded({ listen: '127.0.0.1:0' });
  }
}
