import { LbctlError, messageOf } from '../../model/errors.js';
import type { ResolverSettings } from '../channel-options.js';
import type { KubernetesTarget } from '../target.js';
import type { Source } from './source.js';

/** The ready pods behind a Kubernetes service. The Kubernetes client is loaded when the first such target is used. */
export function kubernetesSource(target: KubernetesTarget, settings: ResolverSettings): Source {
  const { namespace, service, port } = target;
  return {
    open(sink) {
      let isOpen = true;
      let close = () => {};
      import('../../k8s/endpoints.js')
        .then(({ followEndpoints }) => {
          if (!isOpen) return;
          close = followEndpoints(
            { namespace, service, port },
            {
              pods: (pods, ifEmpty) => sink.found(pods, ifEmpty),
              failed: (error) => sink.failed(error),
            },
            settings.kubernetes,
          );
        })
        .catch((error: unknown) => {
          if (isOpen) sink.failed(new LbctlError('INTERNAL', messageOf(error), { cause: error }));
        });
      return () => {
        isOpen = false;
        close();
      };
    },
  };
}
