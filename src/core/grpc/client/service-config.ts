import { Channel, credentials, experimental } from '@grpc/grpc-js';
import { LbctlError, messageOf } from '../../model/errors.js';
import type { HashKeySettings, PolicySettings } from '../policies/policy-config.js';
import { loadBalancingEntry } from '../policies/register.js';
import { type MethodName, type RetrySettings, retriedMethods, retryPolicy } from './retry.js';

/** What goes into a service config. */
export interface ServiceConfigSettings extends HashKeySettings {
  /** A policy's name, or its name and options. */
  readonly policy?: string | PolicySettings;
  /** Which calls are tried again when they fail. Absent: none, unless `serviceConfig` says so. */
  readonly retry?: RetrySettings;
  /** A service config to start from (its timeouts, retries…), as JSON text or an object. */
  readonly serviceConfig?: string | object;
}

interface MethodConfig {
  readonly name: readonly Partial<MethodName>[];
  readonly [setting: string]: unknown;
}

/**
 * The JSON for the channel option `grpc.service_config`: the policy, the retries and the given service config in one.
 *
 * `{"loadBalancingPolicy": "p2c_ewma"}`, which programs in Go write and grpc-js ignores, is understood.
 * @throws USAGE for an unknown policy or option, and for whatever grpc-js would refuse later, or ignore.
 */
export function serviceConfig(settings: ServiceConfigSettings): string {
  const { hashKeyHeaders, stripHashKey } = settings;
  const { loadBalancingPolicy, loadBalancingConfig, methodConfig = [], ...rest } = parsed(settings.serviceConfig);
  if (!Array.isArray(methodConfig)) throw bad('methodConfig is not a list');
  const policy = {
    ...(hashKeyHeaders !== undefined && { hashKeyHeaders }),
    ...(stripHashKey !== undefined && { stripHashKey }),
    ...chosenPolicy(settings.policy, loadBalancingPolicy, loadBalancingConfig),
  };
  const config = JSON.stringify({
    ...rest,
    loadBalancingConfig: [loadBalancingEntry(policy)],
    methodConfig: settings.retry === undefined ? methodConfig : withRetry(methodConfig, settings.retry),
  });
  assertAccepted(config);
  return config;
}

function parsed(given: string | object = {}): Record<string, unknown> {
  let value: unknown = given;
  if (typeof given === 'string') {
    try {
      value = JSON.parse(given);
    } catch (cause) {
      throw bad(`it is no JSON (${messageOf(cause)})`, cause);
    }
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw bad('it is not a JSON object');
}

function chosenPolicy(policy: string | PolicySettings | undefined, name: unknown, list: unknown): PolicySettings {
  const given = [policy, name, list].filter((source) => source !== undefined);
  if (given.length > 1) throw bad('the policy is given more than once');
  if (typeof policy === 'object') return policy;
  if (list === undefined) {
    const only = policy ?? name;
    if (typeof only === 'string') return { policy: only };
    throw bad(only === undefined ? 'no policy is given' : 'loadBalancingPolicy is not a name');
  }
  const entries: unknown[] = Array.isArray(list) ? list : [];
  const [entry] = entries;
  const [first, ...others] = typeof entry === 'object' && entry !== null ? Object.entries(entry) : [];
  if (entries.length !== 1 || first === undefined || others.length > 0) {
    throw bad('loadBalancingConfig is not a list of one policy, like [{"p2c_ewma": {}}]');
  }
  return { ...(first[1] as object), policy: first[0] };
}

/**
 * One entry a name: grpc-js takes the most specific entry alone, so one for a method has to repeat what its service's
 * or the default one says.
 */
function withRetry(methodConfig: readonly MethodConfig[], settings: RetrySettings): readonly MethodConfig[] {
  const policy = retryPolicy(settings);
  const retried = retriedMethods(settings);
  const names = new Map<string, Partial<MethodName>>();
  for (const name of [...methodConfig.flatMap((entry) => entry.name ?? []), ...retried]) names.set(idOf(name), name);
  return [...names.values()].map((name) => {
    const { name: _, ...inherited } = mostSpecific(methodConfig, name) ?? { name: [] };
    if (!retried.some((of) => covers(of, name))) return { ...inherited, name: [name] };
    if ('retryPolicy' in inherited || 'hedgingPolicy' in inherited) {
      throw bad(`${idOf(name)} has retries of its own, and others in the retry settings`);
    }
    return { ...inherited, name: [name], retryPolicy: policy };
  });
}

function idOf({ service = '', method = '' }: Partial<MethodName>): string {
  return `${service}/${method}`;
}

function covers(general: Partial<MethodName>, name: Partial<MethodName>): boolean {
  if (!general.service) return !general.method;
  return general.service === name.service && (!general.method || general.method === name.method);
}

function mostSpecific(methodConfig: readonly MethodConfig[], wanted: Partial<MethodName>): MethodConfig | undefined {
  const specificity = ({ service, method }: Partial<MethodName>): number => (method ? 2 : service ? 1 : 0);
  let best: { readonly entry: MethodConfig; readonly rank: number } | undefined;
  for (const entry of methodConfig) {
    for (const name of entry.name ?? []) {
      const rank = specificity(name);
      if (covers(name, wanted) && (best === undefined || rank > best.rank)) best = { entry, rank };
    }
  }
  return best?.entry;
}

/** grpc-js validates a service config when a channel is made, which connects to nobody until it is used. */
function assertAccepted(config: string): void {
  try {
    new Channel('ipv4:127.0.0.1:1', credentials.createInsecure(), { 'grpc.service_config': config }).close();
  } catch (cause) {
    throw bad(messageOf(cause), cause);
  }
  const { loadBalancingConfig } = JSON.parse(config);
  if (experimental.selectLbConfigFromList(loadBalancingConfig) === null) throw bad('grpc-js does not know its policy');
}

function bad(what: string, cause?: unknown): LbctlError {
  return new LbctlError('USAGE', `The service config cannot be used: ${what}`, { cause });
}
