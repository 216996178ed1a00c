import type { Channel } from '@grpc/grpc-js';
import { noop } from 'cockatiel';
import { Etcd3 } from 'etcd3';

/**
 * etcd3's thin clients on a channel of ours, for writes, leases and watches. Loading this module takes longer than
 * starting Node, most of it for etcd3's .proto files, so it is only imported by who needs it.
 */
export function thinClients(address: string, channel: Channel): Etcd3 {
  return new Etcd3({
    hosts: [address],
    faultHandling: { host: () => noop, global: noop },
    grpcOptions: { channelOverride: channel },
  });
}
