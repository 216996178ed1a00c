/**
 * lbctl as a library: service discovery on etcd for Node. A program connects, then publishes itself, or subscribes to
 * a service and picks an instance.
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
export { createBalancer, type PolicyOptions, policyNames } from './core/balancer/policies.js';
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
export { type Clock, type Rng, systemClock, systemRng, type Timer } from './core/model/clock.js';
export { type ErrorCode, errorCodes, isLbctlError, LbctlError } from './core/model/errors.js';
export type { Instance, Lease, Note, Owner, Pause } from './core/model/instance.js';
