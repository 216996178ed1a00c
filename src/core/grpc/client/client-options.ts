import type { ChannelOptions } from '@grpc/grpc-js';
import { checkedListenOn } from '../../stats/export/servers.js';
import { type ResolverSettings, withResolverSettings } from '../channel-options.js';
import { ClientState, withClientState } from '../policies/client-state.js';
import { registerResolvers } from '../resolvers/register.js';
import { type ServiceConfigSettings, serviceConfig } from './service-config.js';

/** What `clientOptions` takes: the policy and the retries, access to etcd and Kubernetes, and who looks on. */
export interface ClientSettings extends ServiceConfigSettings, ResolverSettings {
  /** To see what the policy knows, and each attempt of each call. Absent: nobody looks. */
  readonly state?: ClientState;
  /**
   * A channel to etcd publishes there what it has applied of the changes of its service (see Observer), so that a drain sees when
   * no call goes to an instance any more. A text names this client in its record; false: it publishes nothing. Default: true.
   */
  readonly observe?: boolean | string;
  /**
   * Where the program serves what this client counts (JSON, a live stream, Prometheus text over HTTP): `host:port`, shared by
   * all clients that name it; with a host that names every interface the record tells this machine's address. false: nowhere.
   * Default: a free port of 127.0.0.1, for channels that publish an observer record.
   */
  readonly statistics?: string | false;
  /** Told what does not work and stops no call: a port that cannot be bound (tried again; one client of those that share it is told), a record that may not be written. */
  readonly onWarning?: (warning: string) => void;
}

/**
 * The channel options of a grpc-js client that balances with lbctl. Options of one's own go beside them:
 * `new GreeterClient(target, creds, { ...clientOptions({ policy: 'p2c_ewma' }), 'grpc.max_send_message_length': -1 })`.
 *
 * Also registers lbctl's policies and resolvers with grpc-js.
 * @throws USAGE for an unknown policy, a service config that cannot be used, or `statistics` that is no `host:port`.
 */
export function clientOptions(settings: ClientSettings): ChannelOptions {
  registerResolvers();
  const { state = new ClientState(), observe = true, statistics, onWarning, ...more } = settings;
  const { etcd, overlayPrefix, kubernetes, ...config } = more;
  return {
    'grpc.service_config': serviceConfig(config),
    // A TXT record of a `dns:` target would replace the service config.
    'grpc.service_config_disable_resolution': 1,
    // grpc-js waits up to two minutes before it connects again, long after an instance is back.
    'grpc.max_reconnect_backoff_ms': 10_000,
    ...withResolverSettings({
      ...(etcd !== undefined && { etcd }),
      ...(overlayPrefix !== undefined && { overlayPrefix }),
      ...(kubernetes !== undefined && { kubernetes }),
      ...(observe !== false && { observe: typeof observe === 'string' ? { client: observe } : {} }),
      ...(statistics !== undefined && { statistics: statistics === false ? false : checkedListenOn(statistics) }),
      ...(onWarning !== undefined && { onWarning }),
    }),
    ...withClientState(state),
  };
}
