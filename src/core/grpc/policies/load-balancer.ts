import { type ChannelOptions, connectivityState, experimental } from '@grpc/grpc-js';
import type { Candidate } from '../../balancer/balancer.js';
import { systemClock, type Timer } from '../../model/clock.js';
import { ClientStatistics } from '../../stats/client-statistics.js';
import { onAppliedOf } from '../applied.js';
import { resolverSettingsOf } from '../channel-options.js';
import type { InstanceEndpoint } from '../endpoint.js';
import { ClientState, clientStateOf } from './client-state.js';
import type { ManagedBalancer } from './managed-balancer.js';
import { BalancerPicker, type Connection } from './picker.js';
import { PolicyConfig } from './policy-config.js';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = connectivityState;

/**
 * grpc-js sends all calls that wait for a connection through the first picker it gets: with one connection open, all to
 * one instance. So calls wait a little longer, until each instance of the first list has connected or failed, or
 * for this long after the first has connected.
 */
export const startHoldMs = 500;

class Child implements Connection {
  state: connectivityState = IDLE;
  /** False once it has left the list. Timers of a destroyed leaf go on, and would connect it again. */
  active = true;
  readonly leaf: experimental.LeafLoadBalancer;

  constructor(
    public candidate: Candidate,
    public endpoint: experimental.Endpoint,
    makeLeaf: (child: Child) => experimental.LeafLoadBalancer,
  ) {
    this.leaf = makeLeaf(this);
  }

  get address(): string {
    return this.candidate.address;
  }

  get picker(): experimental.Picker {
    return this.leaf.getPicker();
  }
}

/**
 * All of lbctl's policies in grpc-js: a connection to each endpoint, kept by the instance's address over updates, and a
 * balancer that chooses among them.
 */
export class PolicyLoadBalancer implements experimental.LoadBalancer {
  readonly #helper: experimental.ChannelControlHelper;
  readonly #typeName: string;
  readonly #children = new Map<string, Child>();
  #order: readonly Candidate[] = [];
  #options: ChannelOptions = {};
  #state: connectivityState = IDLE;
  #ownState: ClientState | undefined;
  #balancer: ManagedBalancer | undefined;
  #statistics: ClientStatistics | undefined;
  #config: PolicyConfig | undefined;
  #lastError = '';
  #paused = false;
  #holding = true;
  #holdTimer: Timer | undefined;

  constructor(helper: experimental.ChannelControlHelper, typeName: string) {
    this.#helper = helper;
    this.#typeName = typeName;
  }

  updateAddressList(
    endpoints: experimental.StatusOr<experimental.Endpoint[]>,
    config: experimental.TypedLoadBalancingConfig,
    options: ChannelOptions,
    resolutionNote: string,
  ): boolean {
    if (!(config instanceof PolicyConfig)) return false;
    this.#options = options;
    if (!endpoints.ok) {
      // What is known stays in use: a registry that is away for a while stops no traffic.
      if (this.#children.size === 0) this.#fail(endpoints.error.details);
      return true;
    }
    const list = distinctEndpoints(endpoints.value);
    this.#adopt(config, [...list.keys()]);
    this.#paused = true;
    const changed = this.#applyList(list, resolutionNote);
    this.#paused = false;
    // True also for an empty list: false would tell grpc-js to keep calls waiting for a list that it can use.
    if (list.size === 0) {
      this.#holding = true;
      this.#fail(`The list of instances is empty. ${resolutionNote}`.trim());
    } else if (changed) {
      this.#report();
    }
    // Also while calls are held or fail: pickers look up connections in this very map of children.
    if (this.#balancer !== undefined && this.#statistics !== undefined) {
      const spread = { policy: config.policy, balancer: this.#balancer, statistics: this.#statistics };
      onAppliedOf(options)?.(spread, true);
      if (changed) this.#statistics.listChanged();
    }
    return true;
  }

  #adopt(config: PolicyConfig, addresses: readonly string[]): void {
    if (this.#balancer !== undefined && this.#config?.id === config.id) return;
    this.#releaseBalancer();
    this.#ownState ??= clientStateOf(this.#options) ?? new ClientState();
    this.#balancer = this.#ownState.acquire(config, addresses);
    this.#config = config;
    this.#order = [];
    this.#statistics = new ClientStatistics(config.policy, this.#balancer);
    // A resolver of lbctl gives the service's name; of another all there is is what the program calls it.
    const authority = this.#options['grpc.default_authority'];
    if (authority !== undefined) this.#statistics.identify({ service: authority });
    const { observe, statistics, onWarning } = resolverSettingsOf(this.#options);
    if (observe?.client !== undefined) this.#statistics.identify({ client: observe.client });
    if (typeof statistics === 'string') this.#statistics.serve(statistics, onWarning);
  }

  /** @returns whether the picker has to be made anew. */
  #applyList(list: ReadonlyMap<string, experimental.Endpoint>, resolutionNote: string): boolean {
    let changed = this.#balancer === undefined || this.#order.length === 0;
    for (const [address, child] of this.#children) {
      if (list.has(address)) continue;
      changed = true;
      this.#children.delete(address);
      child.active = false;
      child.leaf.destroy();
    }
    const order: Candidate[] = [];
    for (const [address, endpoint] of list) {
      const child = this.#children.get(address);
      if (child === undefined) {
        changed = true;
        order.push(this.#connect(endpoint, resolutionNote));
        continue;
      }
      child.candidate = candidateOf(endpoint, child.candidate);
      order.push(child.candidate);
      if (!sameAddresses(child.endpoint, endpoint)) {
        changed = true;
        child.leaf.updateEndpoint(endpoint, this.#options);
      }
      child.endpoint = endpoint;
    }
    if (changed || order.some((candidate, i) => candidate !== this.#order[i])) {
      this.#balancer?.update(order);
      // A connection that others have opened is there before the balancer knows the instance.
      for (const child of this.#children.values()) this.#tellReached(child);
    }
    this.#order = order;
    return changed;
  }

  #connect(endpoint: experimental.Endpoint, resolutionNote: string): Candidate {
    const child = new Child(candidateOf(endpoint), endpoint, (self) => {
      const helper = experimental.createChildChannelControlHelper(this.#helper, {
        updateState: (state, _picker, error) => this.#childChanged(self, state, error),
        requestReresolution: () => {
          if (self.active) this.#helper.requestReresolution();
        },
      });
      return new experimental.LeafLoadBalancer(endpoint, helper, this.#options, resolutionNote);
    });
    this.#children.set(child.address, child);
    child.leaf.startConnecting();
    return child.candidate;
  }

  #childChanged(child: Child, state: connectivityState, error: string | null): void {
    if (!child.active) return;
    const lost = child.state === READY && state !== READY;
    child.state = state;
    this.#tellReached(child);
    if (error !== null) this.#lastError = causeOf(error);
    // A lost connection is opened again at once, and says that the list may be out of date.
    if (state === IDLE) child.leaf.exitIdle();
    if (lost) this.#helper.requestReresolution();
    this.#report();
  }

  #tellReached({ address, state }: Child): void {
    if (state === READY || state === TRANSIENT_FAILURE) this.#balancer?.reached(address, state === READY);
  }

  #report(): void {
    if (this.#paused || this.#balancer === undefined || this.#config === undefined) return;
    let ready = 0;
    let failed = 0;
    for (const { state } of this.#children.values()) {
      if (state === READY) ready++;
      else if (state === TRANSIENT_FAILURE) failed++;
    }
    const settled = ready + failed === this.#children.size;
    if (ready > 0 && this.#holding && !settled) {
      this.#holdTimer ??= systemClock.timer(startHoldMs, () => this.#endHold(), { background: true });
      this.#wait();
    } else if (ready > 0) {
      this.#stopHolding();
      this.#holding = false;
      this.#publish(READY, new BalancerPicker(this.#balancer, this.#config, this.#children), null);
    } else if (failed === this.#children.size) {
      this.#fail(`No connection to any of ${failed} instances. Last error: ${this.#lastError}`);
    } else {
      this.#wait();
    }
  }

  #wait(): void {
    // Not twice: each picker that grpc-js gets runs through all calls that wait.
    if (this.#state !== CONNECTING) this.#publish(CONNECTING, new experimental.QueuePicker(this), null);
  }

  #fail(details: string): void {
    this.#stopHolding();
    this.#publish(TRANSIENT_FAILURE, new experimental.UnavailablePicker({ details }), details);
  }

  #publish(state: connectivityState, picker: experimental.Picker, error: string | null): void {
    this.#state = state;
    this.#helper.updateState(state, picker, error);
  }

  #endHold(): void {
    this.#holdTimer = undefined;
    this.#holding = false;
    this.#report();
  }

  #stopHolding(): void {
    this.#holdTimer?.cancel();
    this.#holdTimer = undefined;
  }

  exitIdle(): void {
    for (const child of this.#children.values()) if (child.state === IDLE) child.leaf.exitIdle();
  }

  resetBackoff(): void {
    // Subchannels keep their own back-off, which no leaf can reset.
  }

  destroy(): void {
    this.#stopHolding();
    for (const child of this.#children.values()) {
      child.active = false;
      child.leaf.destroy();
    }
    this.#children.clear();
    this.#releaseBalancer();
  }

  #releaseBalancer(): void {
    if (this.#balancer !== undefined) this.#ownState?.release(this.#balancer);
    this.#balancer = undefined;
    this.#statistics?.end();
    this.#statistics = undefined;
  }

  getTypeName(): string {
    return this.#typeName;
  }
}

/** What a leaf says, without the frame that grpc-js puts around it: ours says the same. */
function causeOf(error: string): string {
  return error.replace(/^No connection established\. Last error: /, '').replace(/\.? Resolution note: *$/, '');
}

/** The instance that a resolver of lbctl put there; for any other resolver, the address with weight 1. */
function candidateOf(endpoint: experimental.Endpoint, known?: Candidate): Candidate {
  return (endpoint as Partial<InstanceEndpoint>).instance ?? known ?? { address: addressOf(endpoint), weight: 1 };
}

function addressOf(endpoint: experimental.Endpoint): string {
  const { instance } = endpoint as Partial<InstanceEndpoint>;
  return instance?.address ?? endpoint.addresses.map(experimental.subchannelAddressToString).join(',');
}

/** By instance's address; the first of those with the same. */
function distinctEndpoints(endpoints: readonly experimental.Endpoint[]): ReadonlyMap<string, experimental.Endpoint> {
  const byAddress = new Map<string, experimental.Endpoint>();
  for (const endpoint of endpoints) {
    const address = addressOf(endpoint);
    if (endpoint.addresses.length > 0 && !byAddress.has(address)) byAddress.set(address, endpoint);
  }
  return byAddress;
}

function sameAddresses(a: experimental.Endpoint, b: experimental.Endpoint): boolean {
  if (a === b || a.addresses === b.addresses) return true;
  if (a.addresses.length !== b.addresses.length) return false;
  return a.addresses.every((address, i) => {
    const other = b.addresses[i];
    if (other === undefined) return false;
    if ('port' in address && 'port' in other) return address.host === other.host && address.port === other.port;
    return experimental.subchannelAddressToString(address) === experimental.subchannelAddressToString(other);
  });
}
