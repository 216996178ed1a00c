import type { HealthTarget } from './target.js';

/**
 * Asks once. Resolves with what a healthy answer said, rejects with the reason when there was none; ends soon after
 * `signal` aborts. The caller owns the deadline.
 */
export type Probe = (signal: AbortSignal) => Promise<string>;

/** The probe of a target. Its adapter is loaded at the first use: gRPC costs a command that never asks nothing. */
export function probeFor(target: HealthTarget): Probe {
  switch (target.kind) {
    case 'tcp':
      return async (signal) => (await import('./tcp-probe.js')).probeTcp(target.address, signal);
    case 'http':
      return async (signal) => (await import('./http-probe.js')).probeHttp(target.url, signal);
    case 'grpc':
      return async (signal) =>
        (await import('../grpc/health-check.js')).probeGrpc(target.address, target.service, signal);
  }
}
