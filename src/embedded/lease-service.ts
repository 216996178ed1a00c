import type { ServerDuplexStream, UntypedServiceImplementation } from '@grpc/grpc-js';
import { unary } from './calls.js';
import { keyBytes } from './interval.js';
import type { Registry } from './registry.js';
import type { LeaseGrantRequest, LeaseIdRequest, LeaseTimeToLiveRequest } from './wire.js';

export function leaseService(registry: Registry): UntypedServiceImplementation {
  const { leases } = registry;
  return {
    LeaseGrant: unary((request: LeaseGrantRequest) => {
      const { id, ttlSeconds } = leases.grant(BigInt(request.ID), Number(request.TTL));
      return { header: registry.header(), ID: id.toString(), TTL: ttlSeconds };
    }),
    LeaseRevoke: unary((request: LeaseIdRequest) => {
      leases.revoke(BigInt(request.ID));
      return { header: registry.header() };
    }),
    LeaseKeepAlive(stream: ServerDuplexStream<LeaseIdRequest, object>) {
      registry.track(stream);
      stream.on('data', ({ ID }: LeaseIdRequest) => {
        stream.write({ header: registry.header(), ID, TTL: leases.renew(BigInt(ID)) });
      });
      stream.on('end', () => stream.end());
      // The client went away in the middle: nothing is left to be told to it.
      stream.on('error', () => {});
    },
    LeaseTimeToLive: unary((request: LeaseTimeToLiveRequest) => {
      const info = leases.info(BigInt(request.ID));
      const header = registry.header();
      if (!info) return { header, ID: request.ID, TTL: -1 };
      const keys = request.keys ? info.keys.map(keyBytes) : [];
      return { header, ID: request.ID, TTL: info.remainingSeconds, grantedTTL: info.ttlSeconds, keys };
    }),
    LeaseLeases: unary(() => ({
      header: registry.header(),
      leases: leases.list().map((id) => ({ ID: id.toString() })),
    })),
  };
}
