/** How the Kubernetes API is reached. */
export interface KubernetesSettings {
  /**
   * Path of a kubeconfig. Without it: what KUBECONFIG names, else `~/.kube/config`, else the service account of the pod.
   */
  readonly kubeconfig?: string;
}
