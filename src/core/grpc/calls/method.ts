import { decodeHealthStatus, servingStatus } from '../../health/grpc-probe.js';
import { LbctlError } from '../../model/errors.js';

/** A unary method with the message to send, as bytes, and how to read what came back. */
export interface CallMethod {
  /** `/pkg.Service/Method`. */
  readonly path: string;
  readonly request: Buffer;
  /** What is wrong with an answer that arrived, in one word; null when nothing is. */
  verdict(response: Buffer): string | null;
  /** gRPC status codes other than OK that are good answers. */
  readonly answers: readonly number[];
}

/** `grpc.health.v1.Health/Check` of the whole server. Source: https://github.com/grpc/grpc/blob/master/doc/health-checking.md */
export const healthCheck: CallMethod = {
  path: '/grpc.health.v1.Health/Check',
  request: Buffer.alloc(0),
  verdict(response) {
    const status = decodeHealthStatus(response);
    if (status === 1) return null;
    return status === undefined ? 'MALFORMED' : (servingStatus[status] ?? `STATUS_${status}`);
  },
  // UNIMPLEMENTED: alive, without the service.
  answers: [12],
};

/** Reads `pkg.Service/Method`, also with a leading slash, or a dot instead of the slash as grpcurl takes it. @throws USAGE */
export function parseMethodName(text: string): { readonly service: string; readonly method: string } {
  const [, service, method] = /^\/?([\w.]+)[/.](\w+)$/.exec(text) ?? [];
  if (service !== undefined && method !== undefined) return { service, method };
  throw new LbctlError('USAGE', `"${text}" names no method`, {
    suggestions: ['Write it like --method greet.Greeter/SayHello.'],
  });
}
