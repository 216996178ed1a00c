/**
 * The gRPC status codes that count against an instance: DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL,
 * UNAVAILABLE, DATA_LOSS. Any other is an answer.
 * Source: go-zero v1.10.3, zrpc/internal/codes/accept.go
 */
const failures: ReadonlySet<number> = new Set([4, 8, 12, 13, 14, 15]);

/** Whether a call that ended with this gRPC status code speaks for its instance. */
export function isAcceptable(code: number): boolean {
  return !failures.has(code);
}
