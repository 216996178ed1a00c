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
  const etcd = resolverOf<EtcdTarget>(etcdSource, ({ key }) => hostNameOf(key));
  experimental.registerResolver('etcd', etcd);
  experimental.registerResolver('discov', etcd);
  experimental.registerResolver(
    'k8s',
    resolverOf<KubernetesTarget>(kubernetesSource, ({ service, namespace }) => `${service}.${namespace}.svc`),
  );
}

/**
 * The key as a host name. A key may hold bytes that no authority may, and Node's HTTP/2 connects only to what is the host
 * of a URL: neither a `%2F` (of `/services/user`) nor a last label that is a number (`greet.2`: a broken IPv4 address) is.
 * Which `xn--` labels are one differs between Nodes; none is used, so that servers see one authority from all of them.
 */
function hostNameOf(key: string): string {
  const escaped = escapeKey(key).replaceAll('%', '_');
  const names = [escaped, `${escaped}.service`, 'service'];
  return names.find((name) => URL.canParse(`http://${name}`) && !/(^|\.)xn--/i.test(name)) ?? '';
}
