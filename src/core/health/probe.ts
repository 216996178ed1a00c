import { probeGrpc } from './grpc-probe.js';
import { probeHttp } from './http-probe.js';
import type { HealthTarget } from './target.js';
import { probeTcp } from './tcp-probe.js';

/**
 * Asks once. Resolves with what a healthy answer said, rejects with the reason when there was none; ends soon after
 * `signal` aborts. The caller owns the deadline.
 */
export type Probe = (signal: AbortSignal) => Promise<string>;

/** The probe of a target. */
export function probeFor(target: HealthTarget): Probe {
  switch (target.kind) {
    case 'tcp':
      return (signal) => probeTcp(target.address, signal);
    case 'http':
      return (signal) => probeHttp(target.url, signal);
    case 'grpc':
      return (signal) => probeGrpc(target.address, target.service, signal);
  }
}
