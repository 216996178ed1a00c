import { status } from '@grpc/grpc-js';

/** A gRPC status on its way to the client. Code and text are etcd's own (api/v3rpc/rpctypes/error.go). */
export class EtcdRefusal extends Error {
  readonly code: status;
  readonly details: string;

  constructor(code: status, details: string) {
    super(details);
    this.name = 'EtcdRefusal';
    this.code = code;
    this.details = details;
  }
}

const refusal = (code: status, text: string) => () => new EtcdRefusal(code, `etcdserver: ${text}`);

export const refuse = {
  emptyKey: refusal(status.INVALID_ARGUMENT, 'key is not provided'),
  keyNotFound: refusal(status.INVALID_ARGUMENT, 'key not found'),
  valueProvided: refusal(status.INVALID_ARGUMENT, 'value is provided'),
  leaseProvided: refusal(status.INVALID_ARGUMENT, 'lease is provided'),
  tooManyOperations: refusal(status.INVALID_ARGUMENT, 'too many operations in txn request'),
  duplicateKey: refusal(status.INVALID_ARGUMENT, 'duplicate key given in txn request'),
  invalidSort: refusal(status.INVALID_ARGUMENT, 'invalid sort option'),
  requestTooLarge: refusal(status.INVALID_ARGUMENT, 'request is too large'),
  compacted: refusal(status.OUT_OF_RANGE, 'mvcc: required revision has been compacted'),
  futureRevision: refusal(status.OUT_OF_RANGE, 'mvcc: required revision is a future revision'),
  leaseNotFound: refusal(status.NOT_FOUND, 'requested lease not found'),
  leaseExists: refusal(status.FAILED_PRECONDITION, 'lease already exists'),
  leaseTtlTooLarge: refusal(status.OUT_OF_RANGE, 'too large lease TTL'),
  authNotEnabled: refusal(status.FAILED_PRECONDITION, 'authentication is not enabled'),
  stopped: refusal(status.UNAVAILABLE, 'server stopped'),
  /** Not etcd's but grpc-go's, hence no prefix. */
  messageTooLarge: (size: number, max: number) =>
    new EtcdRefusal(status.RESOURCE_EXHAUSTED, `grpc: received message larger than max (${size} vs. ${max})`),
};
