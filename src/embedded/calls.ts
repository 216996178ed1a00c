import { type handleUnaryCall, status } from '@grpc/grpc-js';
import { messageOf } from '../core/model/errors.js';
import { wireSize } from './proto.js';
import { EtcdRefusal, refuse } from './refusals.js';

const maxWriteBytes = 1.5 * 1024 * 1024;
const maxMessageBytes = 2 * 1024 * 1024;
/** What etcd's raft envelope adds to a request before it is measured. */
const envelopeBytes = 18;

/** A unary method as a function; whatever it throws becomes the gRPC status. */
export function unary<Q extends object, R>(answer: (request: Q) => R): handleUnaryCall<Q, R> {
  return (call, callback) => {
    try {
      const size = wireSize(call.request);
      if (size > maxMessageBytes) throw refuse.messageTooLarge(size, maxMessageBytes);
      callback(null, answer(call.request));
    } catch (error) {
      callback(error instanceof EtcdRefusal ? error : { code: status.INTERNAL, details: messageOf(error) });
    }
  };
}

/** @throws EtcdRefusal when a request is larger than etcd would write to its log. */
export function checkWriteSize(request: object): void {
  if (wireSize(request) + envelopeBytes > maxWriteBytes) throw refuse.requestTooLarge();
}
