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

/** The same, and what `clientOptions` makes of its own settings. */
export interface ChannelSettings extends ResolverSettings {
  /** Absent: the channel publishes no observer record. */
  readonly observe?: { readonly client?: string };
  /** `host:port` to serve the client's statistics on; false: nowhere. Absent: on loopback, for who publishes a record. */
  readonly statistics?: string | false;
  /** Told what does not work and stops no call. */
  readonly onWarning?: (warning: string) => void;
}

// Keys with this prefix are no part of a subchannel's identity: channels that differ in them share connections.
const resolverKey = `${experimental.SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX}.lbctl.resolver`;

/** Not to be seen from outside: with GRPC_TRACE grpc-js prints the options of a channel, and there is a password among them. */
class Sealed {
  readonly #settings: ChannelSettings;

  constructor(settings: ChannelSettings) {
    this.#settings = settings;
  }

  get settings(): ChannelSettings {
    return this.#settings;
  }
}

export function withResolverSettings(settings: ChannelSettings): ChannelOptions {
  return { [resolverKey]: new Sealed(settings) };
}

export function resolverSettingsOf(options: ChannelOptions): ChannelSettings {
  const sealed: unknown = options[resolverKey];
  return sealed instanceof Sealed ? sealed.settings : {};
}
