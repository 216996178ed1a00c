import { expect, test } from 'vitest';
import { endingSignals, exitCodeOf, exitCodeOfSignal } from '../../src/cli/exit-codes.js';
import { errorCodes } from '../../src/core/model/errors.js';

test('the exit code of every error is frozen', () => {
  expect(exitCodeOf).toEqual({
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
    COMMAND_FAILED: 1,
  });
  expect(Object.keys(exitCodeOf).sort()).toEqual([...errorCodes].sort());
});

test('a signal ends with 128 + its number', () => {
  expect(endingSignals.map(exitCodeOfSignal)).toEqual([129, 130, 143]);
});
