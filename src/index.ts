/**
 * lbctl as a library: service discovery on etcd and client-side balancing for Node. A server publishes itself; a gRPC
 * client takes `clientOptions` and a target such as `etcd:///127.0.0.1:2379?key=greet.rpc`; a program without gRPC
 * subscribes to a service and picks an instance.
 */

export type {
  Balancer,
  CallOutcome,
  Candidate,
  InstanceView,
  KeyPlacement,
  Picked,
  PickOptions,
} from './core/balancer/balancer.js';
export {
  type BalancerConfig,
  type BalancerPorts,
  createConfigured,
  parseBalancerConfig,
} from './core/balancer/config.js';
export type { LatencyMeasure } from './core/balancer/fastest-response.js';
export type { CircuitSettings, CircuitState } from './core/balancer/guard/circuit.js';
export { createBalancer, type PolicyName, type PolicyOptions, policyNames } from './core/balancer/policies.js';
export { rendezvousSubset, shuffleSubset } from './core/balancer/subset.js';
export { figureOutListenOn, type InterfaceAddress, type Machine } from './core/discovery/advertised.js';
export type { Membership } from './core/discovery/cluster.js';
export { observeService, type ServiceEvent, type ServiceEventType } from './core/discovery/observe.js';
export type { DiscoveryPorts } from './core/discovery/ports.js';
export { Publisher, type PublisherChange, type Released } from './core/discovery/publisher.js';
export type { PublisherState } from './core/discovery/publisher-machine.js';
export type { PublisherOptions } from './core/discovery/publisher-options.js';
export { type ReadOptions, readService, type ServiceView } from './core/discovery/read.js';
export type { DiscoveryOptions } from './core/discovery/service-ranges.js';
export { Subscriber, type SubscriberOptions } from './core/discovery/subscriber.js';
export { connect } from './core/etcd/connection.js';
export type {
  CallOptions,
  Etcd,
  EtcdSettings,
} from './core/etcd/port.js';
export type { ResolverSettings } from './core/grpc/channel-options.js';
export { type ClientSettings, clientOptions } from './core/grpc/client/client-options.js';
export type { RetrySettings } from './core/grpc/client/retry.js';
export { type ServiceConfigSettings, serviceConfig } from './core/grpc/client/service-config.js';
export { ClientState } from './core/grpc/policies/client-state.js';
export type { Attempt, ClientStateOptions, InstanceStatistics } from './core/grpc/policies/managed-balancer.js';
export type { HashKeySettings, PolicySettings } from './core/grpc/policies/policy-config.js';
export { registerPolicies } from './core/grpc/policies/register.js';
export { registerResolvers } from './core/grpc/resolvers/register.js';
export {
  type DirectTarget,
  type EtcdTarget,
  formatTarget,
  type KubernetesTarget,
  parseTarget,
  type Target,
} from './core/grpc/target.js';
export type { RingFlavour } from './core/hashing/ring.js';
export type { KubernetesSettings } from './core/k8s/settings.js';
export { type Clock, type Rng, systemClock, systemRng, type Timer } from './core/model/clock.js';
export { type ErrorCode, errorCodes, isLbctlError, LbctlError } from './core/model/errors.js';
export type { DialectName, Instance, Lease, Note, Owner, Pause } from './core/model/instance.js';
export type { StatisticsDocument } from './core/stats/export/document.js';
export type {
  ClientFigures,
  Compared,
  InstanceFigures,
  LatencyPercentiles,
  PickTrace,
  WindowFigures,
} from './core/stats/figures.js';
export { Observer, type ObserverOptions } from './core/stats/observer.js';
export { type RegisterOptions, type Registration, register } from './library/register.js';
