import { splitHostPort } from '../../dialects/address.js';
import { readState } from '../../discovery/read.js';
import type { DiscoveryOptions } from '../../discovery/service-ranges.js';
import type { CallOptions, Etcd } from '../../etcd/port.js';
import type { Clock } from '../../model/clock.js';
import { isLbctlError, LbctlError } from '../../model/errors.js';
import type { Instance } from '../../model/instance.js';
import { readObservers } from '../../stats/observers.js';
import { type DrainFacts, isOut } from './conditions.js';
import type { DrainPorts, DrainRequest } from './request.js';
import { EtcdWiped } from './wait.js';

/** Everything at one address. Only `call` bounds it: what asks may have been interrupted. @throws ETCD_* */
export async function instancesAt(
  etcd: Etcd,
  request: DiscoveryOptions & { readonly service: string; readonly signal?: AbortSignal },
  address: string,
  call: CallOptions,
): Promise<{ readonly instances: readonly Instance[]; readonly revision: bigint }> {
  const { service, signal: _, ...discovery } = request;
  const { state, revision } = await readState(etcd, service, { ...discovery, ...call });
  return { instances: state.instances().filter((instance) => instance.address === address), revision };
}

/** Looks at everything that the conditions of one address are made of. */
export class FactReader {
  readonly #etcd: Etcd;
  readonly #request: DrainRequest;
  readonly #ports: DrainPorts;
  readonly #address: string;
  #outSinceMs: number | null = null;
  #revision: bigint;

  /** `revision`: of etcd when the pause was seen to stand. */
  constructor(etcd: Etcd, request: DrainRequest, ports: DrainPorts, address: string, revision: bigint) {
    this.#revision = revision;
    this.#etcd = etcd;
    this.#request = request;
    this.#ports = ports;
    this.#address = address;
  }

  /** @throws EtcdWiped when etcd is at a revision before one that was seen; ETCD_* */
  async instances(call: CallOptions): Promise<readonly Instance[]> {
    const { instances, revision } = await instancesAt(this.#etcd, this.#request, this.#address, call);
    if (revision < this.#revision) throw new EtcdWiped(this.#request.service);
    this.#revision = revision;
    return instances;
  }

  /** @throws as `instances` */
  async read(call: CallOptions): Promise<DrainFacts> {
    const [instances, observers, connections] = await Promise.all([
      this.instances(call),
      observersOf(this.#etcd, this.#request, call),
      this.#request.untilIdle ? connectionsAt(this.#ports, this.#address) : null,
    ]);
    return { instances, observers, connections, outForMs: this.#outFor(instances, this.#ports.clock) };
  }

  #outFor(instances: readonly Instance[], clock: Clock): number | null {
    if (!isOut(instances)) this.#outSinceMs = null;
    else this.#outSinceMs ??= clock.monotonic();
    return this.#outSinceMs === null ? null : clock.monotonic() - this.#outSinceMs;
  }
}

async function observersOf(
  etcd: Etcd,
  { service, overlayRoot }: DrainRequest,
  call: CallOptions,
): Promise<DrainFacts['observers']> {
  try {
    return await readObservers(etcd, service, overlayRoot === undefined ? call : { ...call, overlayRoot });
  } catch (error) {
    if (isLbctlError(error, 'ETCD_PERMISSION_DENIED')) return 'denied';
    throw error;
  }
}

async function connectionsAt({ host }: DrainPorts, address: string): Promise<number> {
  const use = await host.portUse(splitHostPort(address).port ?? 0);
  if (use === null) throw cannotSee(address, 'this platform has no TCP table that lbctl can read');
  return use.established;
}

/**
 * Whether `--until-idle` can be answered here.
 * @throws USAGE when it cannot: what is not seen would look idle.
 */
export async function checkIdleVisible(
  { host }: DrainPorts,
  address: string,
  instances: readonly Instance[],
): Promise<void> {
  const { host: name, port } = splitHostPort(address);
  if (!(await host.isThisHost(name))) throw cannotSee(address, 'it is not an address of this host');
  const use = await host.portUse(port ?? 0);
  if (use === null) throw cannotSee(address, 'this platform has no TCP table that lbctl can read');
  const lives = instances.some(({ notes }) => !notes.includes('OWNER-GONE'));
  if (!use.listening && lives) {
    throw cannotSee(address, `nobody listens on port ${port} in this network namespace (a container has its own)`);
  }
}

function cannotSee(address: string, why: string): LbctlError {
  return new LbctlError('USAGE', `--until-idle cannot see the connections of ${address}: ${why}`, {
    suggestions: ['Run it on the host of the instance, in its network namespace.', '--grace 5s waits a while instead.'],
  });
}
