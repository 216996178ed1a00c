/**
 * The one list of things that go wrong on purpose. The code is stable: scripts read it from `--json` errors, and
 * `src/cli/exit-codes.ts` maps each to its exit code.
 */
export const errorCodes = [
  'INTERNAL',
  'USAGE',
  'NOT_FOUND',
  'AMBIGUOUS',
  /** Nobody answers there: connection refused, no route, name unknown. */
  'ETCD_UNREACHABLE',
  /** Somebody listens and does not answer in time. */
  'ETCD_TIMEOUT',
  /** A write was sent and its answer never came: it may or may not have happened. */
  'ETCD_OUTCOME_UNKNOWN',
  'ETCD_NO_QUORUM',
  'ETCD_AUTH_FAILED',
  'ETCD_TOKEN_INVALID',
  'ETCD_PERMISSION_DENIED',
  'ETCD_CERTIFICATE',
  'ETCD_COMPACTED',
  'ETCD_NO_SPACE',
  /** etcd understood and said no (too large, too many operations, lease gone…). */
  'ETCD_REJECTED',
  'LEASE_NOT_FOUND',
  'LEASE_EXISTS',
  /** The Kubernetes API does not answer, or says no. */
  'K8S_UNREACHABLE',
  'K8S_REFUSED',
  'GUARD_REFUSED',
  'CHECK_FAILED',
  /** The instance belongs to a process that lbctl cannot steer this way, or its owner put it back. */
  'NOT_MANAGED',
  'OWNER_REREGISTERED',
  'WRITE_CONFLICT',
  'LEASE_LOST',
  'PARTLY_DONE',
  'DECLINED',
  'TIMEOUT',
  'NO_INSTANCE',
  'INVALID_ARGUMENT',
  /** A wrapped command: lbctl could not run it, may not, or it is not there (exit 125, 126, 127). */
  'WRAPPER_FAILED',
  'COMMAND_NOT_EXECUTABLE',
  'COMMAND_NOT_FOUND',
  /** A wrapped command ran and failed: the exit code is its own. */
  'COMMAND_FAILED',
] as const;

/** A stable code of an error that lbctl throws on purpose. */
export type ErrorCode = (typeof errorCodes)[number];

export interface ErrorDetails {
  /** Commands or steps that help, most useful first. */
  readonly suggestions?: readonly string[];
  readonly cause?: unknown;
}

/** An error with a stable code; the message says what was tried and what happened. */
export class LbctlError extends Error {
  /** What went wrong, for programs. */
  readonly code: ErrorCode;
  /** Commands or steps that help, most useful first. */
  readonly suggestions: readonly string[];

  /** `message` says what was tried and what happened. */
  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'LbctlError';
    this.code = code;
    this.suggestions = details.suggestions ?? [];
  }
}

/** True for an LbctlError, with one of `codes` when any is given. */
export function isLbctlError(error: unknown, ...codes: ErrorCode[]): error is LbctlError {
  return error instanceof LbctlError && (codes.length === 0 || codes.includes(error.code));
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
