import { experimental } from '@grpc/grpc-js';
import { policyNamed, policyNames } from '../../balancer/policies.js';
import { PolicyLoadBalancer } from './load-balancer.js';
import { PolicyConfig, type PolicySettings } from './policy-config.js';

const typeNames = new Map<string, string>();

/**
 * Makes lbctl's policies known to grpc-js, each under its own name; where grpc-js has a policy of that name
 * (`round_robin`, `pick_first`), under `lbctl_` and the name. More calls change nothing.
 *
 * A service config should come from `serviceConfig` or `clientOptions`: in one that was written by hand, grpc-js answers a name
 * or an option that it cannot read with pick_first, all traffic on one instance, and tells nobody.
 */
export function registerPolicies(): void {
  for (const policy of policyNames) if (!typeNames.has(policy)) register(policy);
}

function register(policy: string): void {
  const typeName = experimental.isLoadBalancerNameRegistered(policy) ? `lbctl_${policy}` : policy;
  typeNames.set(policy, typeName);

  class Config extends PolicyConfig {
    // A resolver's every answer has grpc-js read the same object again.
    static readonly #read = new WeakMap<object, Config>();

    static createFromJson(json: object): Config {
      const known = Config.#read.get(json);
      if (known !== undefined) return known;
      const config = new Config(typeName, { ...json, policy });
      Config.#read.set(json, config);
      return config;
    }
  }

  class Named extends PolicyLoadBalancer {
    constructor(helper: experimental.ChannelControlHelper) {
      super(helper, typeName);
    }
  }

  experimental.registerLoadBalancerType(typeName, Named, Config);
}

/**
 * The entry of `loadBalancingConfig` for these settings.
 * @throws USAGE for an unknown policy, with the names there are, and for options that it does not take.
 */
export function loadBalancingEntry(settings: PolicySettings): object {
  registerPolicies();
  const policy = policyNamed(settings.policy);
  return new PolicyConfig(typeNames.get(policy) ?? policy, settings).toJsonObject();
}
