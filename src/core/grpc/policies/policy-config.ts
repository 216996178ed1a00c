import type { experimental } from '@grpc/grpc-js';
import type { Balancer } from '../../balancer/balancer.js';
import { createConfigured } from '../../balancer/config.js';
import { policyNamed } from '../../balancer/policies.js';
import { LbctlError } from '../../model/errors.js';

/** Where policies that hash keys find the key of a call. */
export interface HashKeySettings {
  /** The metadata headers that may carry the hash key; the first that is present and not empty does. */
  readonly hashKeyHeaders?: readonly string[];
  /** The hash key's headers are removed from what goes to the server. False when absent. */
  readonly stripHashKey?: boolean;
}

/** A policy with its options: what `clientOptions` takes, and what the service config carries under the policy's name. */
export interface PolicySettings extends HashKeySettings {
  /** A policy's name or alias. */
  readonly policy: string;
  /** The settings of `BalancerConfig`: options of the policy itself, `health`, `adaptiveWeights`, `zone`. */
  readonly [option: string]: unknown;
}

/** The second is the header of go-zero programs that hash by user. */
export const defaultHashKeyHeaders: readonly string[] = ['x-lb-hash-key', 'x-user-id'];

/** Settings of a policy that were checked, as grpc-js hands them to the load balancer. */
export class PolicyConfig implements experimental.TypedLoadBalancingConfig {
  readonly hashKeyHeaders: readonly string[];
  readonly stripHashKey: boolean;
  /** Equal for equal settings: a balancer may go on under a config of the same id. */
  readonly id: string;
  readonly #typeName: string;
  readonly #forBalancer: { readonly policy: string };

  /** @throws USAGE */
  constructor(typeName: string, settings: PolicySettings) {
    const { hashKeyHeaders = defaultHashKeyHeaders, stripHashKey = false, ...forBalancer } = settings;
    this.hashKeyHeaders = checkedHeaders(hashKeyHeaders);
    if (typeof stripHashKey !== 'boolean') throw new LbctlError('USAGE', 'stripHashKey is neither true nor false');
    this.stripHashKey = stripHashKey;
    this.#typeName = typeName;
    this.#forBalancer = { ...forBalancer, policy: policyNamed(settings.policy) };
    this.id = JSON.stringify([this.#forBalancer, this.hashKeyHeaders, stripHashKey]);
    // Refused here, not in a running channel: grpc-js answers a config that throws with pick_first.
    this.createBalancer();
  }

  get policy(): string {
    return this.#forBalancer.policy;
  }

  createBalancer(): Balancer {
    return createConfigured(this.#forBalancer);
  }

  getLoadBalancerName(): string {
    return this.#typeName;
  }

  toJsonObject(): object {
    const { policy: _, ...options } = this.#forBalancer;
    return {
      [this.#typeName]: { ...options, hashKeyHeaders: this.hashKeyHeaders, stripHashKey: this.stripHashKey },
    };
  }
}

function checkedHeaders(headers: unknown): readonly string[] {
  const valid = Array.isArray(headers) && headers.length > 0 && headers.every(isTextHeader);
  if (valid) return headers.map((header) => header.toLowerCase());
  throw new LbctlError('USAGE', `${JSON.stringify(headers)} is not a list of metadata headers that carry text`, {
    suggestions: [`Name headers of letters, digits, "-", "_" and ".", not ending in -bin: ${defaultHashKeyHeaders}`],
  });
}

function isTextHeader(header: unknown): header is string {
  return typeof header === 'string' && /^[0-9a-z_.-]+$/i.test(header) && !/-bin$/i.test(header);
}
