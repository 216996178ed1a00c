import { createBalancer } from '../../core/balancer/policies.js';
import { Publisher } from '../../core/discovery/publisher.js';
import { readService } from '../../core/discovery/read.js';
import { Subscriber } from '../../core/discovery/subscriber.js';
import { connect } from '../../core/etcd/connection.js';
import { thisProcess } from '../../core/host/this-process.js';
import { systemClock } from '../../core/model/clock.js';
import { LbctlError } from '../../core/model/errors.js';
import type { Instance } from '../../core/model/instance.js';
import type { TrafficRow, TrafficView } from '../../core/model/traffic.js';
import { type SampleFleet, startSampleFleet } from '../../embedded/sample-fleet.js';
import { startEmbedded } from '../../embedded/server.js';
import { Traffic } from './traffic.js';

export const demoService = 'demo.rpc';
const policy = 'smooth_weighted_round_robin';
const callsPerSecond = 100;
/** What a rate is averaged over. */
const rateWindowMs = 1000;

export interface DemoSession {
  /** `http://127.0.0.1:2379`: where other terminals find the registry. */
  readonly endpoint: string;
  view(): TrafficView;
  close(): Promise<void>;
}

/**
 * Everything of the demo in this process: registry, five instances, their registrations, a client with traffic.
 * @param listen Where the registry listens; absent: the usual port of etcd when it is free, else any.
 * @throws what the registry throws when `listen` cannot be had.
 */
export async function startDemo(listen: string | undefined, version: string): Promise<DemoSession> {
  const cleanups: Array<() => Promise<void> | void> = [];
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
    const publishers = fleet.instances.map(
      ({ address, weight, zone, name }) =>
        new Publisher(etcd, { service: demoService, address, owner, weight, zone, metadata: { name } }),
    );
    cleanups.push(async () => void (await Promise.all(publishers.map((publisher) => publisher.stop()))));
    await Promise.all(publishers.map((publisher) => publisher.start()));

    const subscriber = new Subscriber(etcd, demoService);
    cleanups.push(() => subscriber.close());
    const balancer = createBalancer(policy);
    subscriber.onChange(() => balancer.update(subscriber.instances()));
    await subscriber.start();
    const traffic = new Traffic(balancer, callsPerSecond, systemClock);
    traffic.start();
    cleanups.push(() => traffic.stop());

    const names = new Map(fleet.instances.map(({ address, name }) => [address, name]));
    // Paused instances have left the client's set: the registry's view of them is read beside it.
    let registered: readonly Instance[] = (await readService(etcd, demoService)).instances;
    const refresh = subscriber.onChange(() => {
      readService(etcd, demoService).then(
        ({ instances }) => {
          registered = instances;
        },
        () => {}, // The next change reads again; until then the last known states stay.
      );
    });
    cleanups.push(refresh);
    const startedAt = systemClock.monotonic();
    const rates = new Rates();
    return {
      endpoint: registry.endpoint,
      close,
      view: () => {
        rates.sample(traffic, systemClock.monotonic());
        return viewOf({ registry: registry.endpoint, registered, fleet, names, traffic, rates, startedAt });
      },
    };
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

/** Calls a second by address, over the last window. */
class Rates {
  readonly #perSecond = new Map<string, number>();
  #sampledAt: number | null = null;
  #before = new Map<string, number>();

  sample(traffic: Traffic, now: number): void {
    const elapsed = this.#sampledAt === null ? null : now - this.#sampledAt;
    if (elapsed !== null && elapsed < rateWindowMs) return;
    for (const [address, { calls }] of traffic.counts) {
      if (elapsed !== null) this.#perSecond.set(address, ((calls - (this.#before.get(address) ?? 0)) * 1000) / elapsed);
      this.#before.set(address, calls);
    }
    this.#sampledAt = now;
  }

  of(address: string): number | null {
    return this.#perSecond.get(address) ?? null;
  }
}

interface Parts {
  readonly registry: string;
  readonly registered: readonly Instance[];
  readonly fleet: SampleFleet;
  readonly names: ReadonlyMap<string, string>;
  readonly traffic: Traffic;
  readonly rates: Rates;
  readonly startedAt: number;
}

function viewOf({ registry, registered, fleet, names, traffic, rates, startedAt }: Parts): TrafficView {
  const all = [...traffic.counts.values()].reduce((sum, { calls }) => sum + calls, 0);
  const byAddress = new Map(registered.map((instance) => [instance.address, instance]));
  const addresses = new Set([...fleet.instances.map(({ address }) => address), ...byAddress.keys()]);
  const rows = [...addresses].map((address): TrafficRow => {
    const instance = byAddress.get(address);
    const counts = traffic.counts.get(address);
    const calls = counts?.calls ?? 0;
    return {
      address,
      name: names.get(address) ?? '',
      admin: instance?.admin ?? 'gone',
      weight: instance?.weight ?? null,
      zone: instance?.zone ?? '',
      calls,
      callsPerSecond: rates.of(address),
      share: all > 0 ? calls / all : null,
      errorRate: counts && calls > 0 ? counts.errors / calls : null,
      averageMs: counts && calls > 0 ? counts.totalMs / calls : null,
      inFlight: counts?.inFlight ?? 0,
    };
  });
  const elapsedMs = systemClock.monotonic() - startedAt;
  return { service: demoService, endpoint: registry, policy, elapsedMs, rows };
}
