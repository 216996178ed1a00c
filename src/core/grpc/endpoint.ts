import type { experimental } from '@grpc/grpc-js';
import type { Candidate } from '../balancer/balancer.js';
import { splitHostPort } from '../dialects/address.js';

/** What rides from a resolver to a policy's picker with one endpoint: at least what policies need, mostly an `Instance`. */
export interface InstanceEndpoint extends experimental.Endpoint {
  /** Policies tell endpoints apart, and keep what they learnt of them, by `instance.address`. */
  readonly instance: Candidate;
}

/** `instance.address` is `host:port`, an IPv6 host in brackets; a host name is left to the connection to look up. */
export function endpointOf(instance: Candidate): InstanceEndpoint {
  const { host, port } = splitHostPort(instance.address);
  return { addresses: [{ host, port: port ?? 0 }], instance };
}
