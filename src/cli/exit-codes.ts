import type { ErrorCode } from '../core/model/errors.js';

/**
 * The one table from an error's stable code to the exit code of the process. Scripts depend on both: a line may be
 * added, never changed (test/cli/exit-codes.test.ts holds a copy).
 */
export const exitCodeOf: Readonly<Record<ErrorCode, number>> = Object.freeze({
  INTERNAL: 1,
  USAGE: 2,
  INVALID_ARGUMENT: 2,
  NOT_FOUND: 3,
  AMBIGUOUS: 3,
  NO_INSTANCE: 3,
  ETCD_UNREACHABLE: 4,
  ETCD_TIMEOUT: 4,
  ETCD_OUTCOME_UNKNOWN: 4,
  ETCD_NO_QUORUM: 4,
  ETCD_AUTH_FAILED: 4,
  ETCD_TOKEN_INVALID: 4,
  ETCD_PERMISSION_DENIED: 4,
  ETCD_CERTIFICATE: 4,
  ETCD_COMPACTED: 4,
  ETCD_NO_SPACE: 4,
  ETCD_REJECTED: 4,
  LEASE_NOT_FOUND: 4,
  LEASE_EXISTS: 4,
  K8S_UNREACHABLE: 4,
  K8S_REFUSED: 4,
  GUARD_REFUSED: 5,
  CHECK_FAILED: 6,
  NOT_MANAGED: 7,
  OWNER_REREGISTERED: 7,
  WRITE_CONFLICT: 7,
  LEASE_LOST: 8,
  PARTLY_DONE: 9,
  DECLINED: 10,
  TIMEOUT: 124,
  WRAPPER_FAILED: 125,
  COMMAND_NOT_EXECUTABLE: 126,
  COMMAND_NOT_FOUND: 127,
  // Where the command's own exit code is not known.
  COMMAND_FAILED: 1,
});

const signalNumbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
export type EndingSignal = keyof typeof signalNumbers;
export const endingSignals = Object.keys(signalNumbers) as EndingSignal[];

/** What a shell reports for a process that this signal ended: 128 + n. */
export function exitCodeOfSignal(signal: EndingSignal): number {
  return 128 + signalNumbers[signal];
}
