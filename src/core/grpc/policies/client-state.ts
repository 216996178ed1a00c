import { type ChannelOptions, experimental } from '@grpc/grpc-js';
import { sum } from '../../model/sum.js';
import type { InstanceFigures, PickTrace } from '../../stats/figures.js';
import { type ClientStateOptions, type InstanceStatistics, ManagedBalancer } from './managed-balancer.js';
import type { PolicyConfig } from './policy-config.js';

/**
 * What outlives grpc-js's load balancers: the balancers, with what they learnt. grpc-js destroys its load balancer when
 * a channel is idle, and makes a new one at the next call.
 *
 * Channels may share one: each has a balancer of its own at any time.
 */
export class ClientState {
  readonly #options: ClientStateOptions;
  readonly #balancers: Array<{ readonly balancer: ManagedBalancer; readonly configId: string; inUse: boolean }> = [];

  /** `options` tell who sees each attempt, and which failures are good answers; nobody and none when absent. */
  constructor(options: ClientStateOptions = {}) {
    this.#options = options;
  }

  /**
   * A balancer for a channel: the free one that knows most of these addresses, else a new one.
   * @internal
   */
  acquire(config: PolicyConfig, addresses: readonly string[]): ManagedBalancer {
    const known = (balancer: ManagedBalancer): number => addresses.filter((address) => balancer.has(address)).length;
    const free = this.#balancers.filter(({ configId, inUse }) => !inUse && configId === config.id);
    let best = free[0];
    for (const entry of free) if (best !== undefined && known(entry.balancer) > known(best.balancer)) best = entry;
    if (best === undefined) {
      const balancer = new ManagedBalancer(config.createBalancer(), this.#options);
      best = { balancer, configId: config.id, inUse: true };
      this.#balancers.push(best);
    }
    best.inUse = true;
    return best.balancer;
  }

  /** @internal */
  release(balancer: ManagedBalancer): void {
    for (const entry of this.#balancers) if (entry.balancer === balancer) entry.inUse = false;
  }

  /** Each instance of each channel, in the order of the channel's last update. */
  inspect(): readonly InstanceStatistics[] {
    return this.#balancers.flatMap(({ balancer }) => balancer.inspect());
  }

  /** How many instances the channels have on their lists. */
  get size(): number {
    return sum(this.#balancers, ({ balancer }) => balancer.size);
  }

  /** The same as `inspect` with what is counted over time, and with instances that have left: what clients serve as statistics. */
  figures(): readonly InstanceFigures[] {
    return this.#balancers.flatMap(({ balancer }) => balancer.figures());
  }

  /** The last picks in which `address` was compared, newest first within a channel; none of a policy that does not compare. */
  trace(address: string, limit: number): readonly PickTrace[] {
    return this.#balancers.flatMap(({ balancer }) => balancer.trace(address, limit)).slice(0, limit);
  }
}

// Keys with this prefix are no part of a subchannel's identity: channels that differ in them share connections.
const stateKey = `${experimental.SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX}.lbctl.state`;

export function withClientState(state: ClientState): ChannelOptions {
  return { [stateKey]: state };
}

/** Undefined for a channel whose options were not made by `clientOptions`. */
export function clientStateOf(options: ChannelOptions): ClientState | undefined {
  return options[stateKey] as ClientState | undefined;
}
