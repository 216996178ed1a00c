import {
  type CallOptions,
  status as grpcStatus,
  InterceptingCall,
  type Interceptor,
  ListenerBuilder,
  Metadata,
  RequesterBuilder,
} from '@grpc/grpc-js';

export interface GrpcStatus {
  readonly code: number;
  readonly details: string;
}

export interface CallTap {
  readonly options: CallOptions;
  /** How the call really ended; null while it has not. */
  status(): GrpcStatus | null;
  cancel(): void;
}

/**
 * Stands between etcd3 and one call. It adds our own metadata, keeps the status as the server sent it (etcd3 drops
 * code and details), and shows etcd3 a neutral one: at an "unavailable" etcd3 would close the channel under all other
 * calls, and at a refused token it would authenticate in a loop.
 */
export function tapCall(sent: { token?: string | null; requireLeader?: boolean }): CallTap {
  let seen: GrpcStatus | null = null;
  let call: InterceptingCall | null = null;
  const interceptor: Interceptor = (options, nextCall) => {
    const requester = new RequesterBuilder().withStart((metadata, _listener, next) => {
      if (sent.token) metadata.set('token', sent.token);
      if (sent.requireLeader) metadata.set('hasleader', 'true');
      const listener = new ListenerBuilder().withOnReceiveStatus((status, nextStatus) => {
        seen ??= { code: status.code, details: status.details };
        const isOk = status.code === grpcStatus.OK;
        const code = isOk ? grpcStatus.OK : grpcStatus.FAILED_PRECONDITION;
        nextStatus({ code, details: isOk ? status.details : 'failed', metadata: new Metadata() });
      });
      next(metadata, listener.build());
    });
    call = new InterceptingCall(nextCall(options), requester.build());
    return call;
  };
  return {
    options: { interceptors: [interceptor] },
    status: () => seen,
    cancel: () => call?.cancelWithStatus(grpcStatus.CANCELLED, 'called off'),
  };
}
