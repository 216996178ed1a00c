import { type ChannelOptions, experimental } from '@grpc/grpc-js';
import type { EtcdSettings } from '../etcd/port.js';
import type { KubernetesSettings } from '../k8s/settings.js';

/** What resolvers take from the client's options. */
export interface ResolverSettings {
  /** Account, TLS and deadlines for etcd; the endpoints are the target's. */
  readonly etcd?: Omit<EtcdSettings, 'endpoints'>;
  /** Prefix of lbctl's own records; its default when absent. */
  readonly overlayPrefix?: string;
  /** For targets `k8s://…`. */
  readonly kubernetes?: KubernetesSettings;
}

// Keys with this prefix are no part of a subchannel's identity: channels that differ in them share connections.
const resolverKey = `${experimental.SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX}.lbctl.resolver`;

export function withResolverSettings(settings: ResolverSettings): ChannelOptions {
  return { [resolverKey]: settings };
}

export function resolverSettingsOf(options: ChannelOptions): ResolverSettings {
  return (options[resolverKey] as ResolverSettings | undefined) ?? {};
}
