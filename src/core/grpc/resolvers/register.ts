import { experimental } from '@grpc/grpc-js';
import { type DirectTarget, type EtcdTarget, escapeKey, type KubernetesTarget } from '../target.js';
import { directSource } from './direct.js';
import { etcdSource } from './etcd.js';
import { kubernetesSource } from './kubernetes.js';
import { resolverOf } from './resolver.js';

let isDone = false;

/**
 * Teaches grpc-js the targets `direct:///…`, `etcd:///…`, `discov:///…` and `k8s://…` (see target.ts), for every client
 * of this process. Calling it again does nothing.
 */
export function registerResolvers(): void {
  if (isDone) return;
  isDone = true;
  experimental.registerResolver(
    'direct',
    resolverOf<DirectTarget>(directSource, ({ addresses }) => addresses[0] ?? ''),
  );
  // A key may hold bytes that no authority may.
  const etcd = resolverOf<EtcdTarget>(etcdSource, ({ key }) => escapeKey(key));
  experimental.registerResolver('etcd', etcd);
  experimental.registerResolver('discov', etcd);
  experimental.registerResolver(
    'k8s',
    resolverOf<KubernetesTarget>(kubernetesSource, ({ service, namespace }) => `${service}.${namespace}.svc`),
  );
}
