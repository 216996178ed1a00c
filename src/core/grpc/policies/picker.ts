import { connectivityState, experimental, Metadata, status } from '@grpc/grpc-js';
import type { CallOutcome, PickOptions } from '../../balancer/balancer.js';
import { isLbctlError, messageOf } from '../../model/errors.js';
import type { ManagedBalancer, Reservation } from './managed-balancer.js';
import type { PolicyConfig } from './policy-config.js';
import { RefusingSubchannel } from './refusal.js';
import { addTried, triedBy } from './tried.js';

/** The connection to one endpoint, as the picker sees it. */
export interface Connection {
  readonly address: string;
  readonly state: connectivityState;
  readonly picker: experimental.Picker;
}

const { COMPLETE, QUEUE, TRANSIENT_FAILURE } = experimental.PickResultType;

const queue: experimental.PickResult = {
  pickResultType: QUEUE,
  subchannel: null,
  status: null,
  onCallStarted: null,
  onCallEnded: null,
};

function failure(code: status, details: string): experimental.PickResult {
  return { ...queue, pickResultType: TRANSIENT_FAILURE, status: { code, details, metadata: new Metadata() } };
}

/** Replaced on every change of a connection's state or of the list: what it counts when it is made stays true. */
export class BalancerPicker implements experimental.Picker {
  readonly #balancer: ManagedBalancer;
  readonly #config: PolicyConfig;
  readonly #connections: ReadonlyMap<string, Connection>;
  readonly #allUsable: boolean;

  constructor(balancer: ManagedBalancer, config: PolicyConfig, connections: ReadonlyMap<string, Connection>) {
    this.#balancer = balancer;
    this.#config = config;
    this.#connections = connections;
    this.#allUsable = [...connections.values()].every((connection) => this.#usable(connection));
  }

  /** Never throws: grpc-js would make that an unhandled rejection, and a call that hangs. */
  pick(args: experimental.PickArgs): experimental.PickResult {
    try {
      return this.#pick(args);
    } catch (error) {
      if (isLbctlError(error, 'INVALID_ARGUMENT')) return this.#refuse(args, error.message);
      const code = isLbctlError(error, 'NO_INSTANCE') ? status.UNAVAILABLE : status.INTERNAL;
      return failure(code, messageOf(error));
    }
  }

  #pick(args: experimental.PickArgs): experimental.PickResult {
    const { metadata, extraPickInfo } = args;
    const options: { -readonly [K in keyof PickOptions]: PickOptions[K] } = {};
    const key = this.#balancer.keyed ? this.#hashKey(metadata) : undefined;
    if (key !== undefined) options.key = key;
    const avoid = this.#avoid(triedBy(extraPickInfo));
    if (avoid !== undefined) options.avoid = avoid;

    const reservation = this.#balancer.reserve(options);
    const { address } = reservation;
    const connection = this.#connections.get(address);
    if (connection?.state !== connectivityState.READY) {
      reservation.abandon();
      if (connection === undefined && this.#balancer.catchUp()) return this.#pick(args);
      const failed = connection === undefined || connection.state === connectivityState.TRANSIENT_FAILURE;
      // The owner of a key that is about to be connected is waited for: another one is not where the key's state is.
      return failed ? failure(status.UNAVAILABLE, `No connection to ${address}`) : queue;
    }
    const leaf = connection.picker.pick(args);
    if (leaf.pickResultType !== COMPLETE || leaf.subchannel === null) {
      reservation.abandon();
      return leaf.pickResultType === COMPLETE ? queue : leaf;
    }
    addTried(extraPickInfo, address);
    // This is the metadata of this attempt alone: a retry finds the key again.
    if (this.#config.stripHashKey) for (const header of this.#config.hashKeyHeaders) metadata.remove(header);
    return complete(leaf, reservation);
  }

  /** A connection that a call may be told to wait for, or to use. */
  #usable({ state }: Connection): boolean {
    return this.#balancer.keyed ? state !== connectivityState.TRANSIENT_FAILURE : state === connectivityState.READY;
  }

  #avoid(tried: readonly string[] | undefined): PickOptions['avoid'] {
    const unusable = (address: string): boolean => {
      const connection = this.#connections.get(address);
      return connection === undefined || !this.#usable(connection);
    };
    if (tried !== undefined) {
      // Only while another is left: a policy that is to avoid all avoids none, not even those without a connection.
      for (const [address, connection] of this.#connections) {
        if (this.#usable(connection) && !tried.includes(address)) return (a) => tried.includes(a) || unusable(a);
      }
    }
    return this.#allUsable && !this.#balancer.stale ? undefined : unusable;
  }

  #hashKey(metadata: Metadata): string | undefined {
    for (const header of this.#config.hashKeyHeaders) {
      const value = metadata.get(header)[0];
      if (value !== undefined && value.length > 0) return value.toString();
    }
    return undefined;
  }

  #refuse(args: experimental.PickArgs, message: string): experimental.PickResult {
    const details = `${message}: set the metadata ${this.#config.hashKeyHeaders.join(' or ')}`;
    for (const { picker } of this.#connections.values()) {
      const leaf = picker.pick(args);
      if (leaf.pickResultType !== COMPLETE || leaf.subchannel === null) continue;
      return {
        ...leaf,
        subchannel: new RefusingSubchannel(leaf.subchannel, { code: status.INVALID_ARGUMENT, details }),
      };
    }
    return queue;
  }
}

function complete(leaf: experimental.PickResult, reservation: Reservation): experimental.PickResult {
  return {
    pickResultType: COMPLETE,
    subchannel: leaf.subchannel,
    status: null,
    onCallStarted: () => {
      leaf.onCallStarted?.();
      reservation.started();
    },
    onCallEnded: (code, details, metadata) => {
      leaf.onCallEnded?.(code, details, metadata);
      reservation.ended(outcomeOf(code, metadata));
    },
  };
}

/** What a server says in `grpc-retry-pushback-ms`; what cannot be read means: do not retry (gRFC A6). */
function outcomeOf(code: status, trailers: Metadata): CallOutcome {
  if (code === status.OK) return { code };
  const pushback = trailers.get('grpc-retry-pushback-ms')[0];
  if (pushback === undefined) return { code };
  return { code, pushbackMs: /^\d{1,9}$/.test(pushback.toString()) ? Number(pushback) : -1 };
}
