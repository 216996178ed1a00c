import { experimental, Metadata, type StatusObject } from '@grpc/grpc-js';

type Subchannel = ReturnType<experimental.SubchannelInterface['getRealSubchannel']>;
type SubchannelCall = ReturnType<Subchannel['createCall']>;

/**
 * A subchannel whose calls end at once with one status. Of a picker's own failures grpc-js rewrites the codes that
 * blame the caller (INVALID_ARGUMENT becomes INTERNAL, see gRFC A54): rightly when a control plane sent them, wrongly for a
 * policy that misses the caller's hash key. The status of a call is passed on as it is.
 */
export class RefusingSubchannel extends experimental.BaseSubchannelWrapper {
  readonly #status: Pick<StatusObject, 'code' | 'details'>;

  constructor(child: experimental.SubchannelInterface, status: Pick<StatusObject, 'code' | 'details'>) {
    super(child);
    this.#status = status;
  }

  override getRealSubchannel(): Subchannel {
    const createCall: Subchannel['createCall'] = (_metadata, _host, _method, listener, callId) => {
      queueMicrotask(() => listener.onReceiveStatus({ ...this.#status, metadata: new Metadata() }));
      return endedCall(this.getAddress(), callId ?? 0);
    };
    // Of a real subchannel only this is ever asked for once the pick is made.
    return { createCall } as unknown as Subchannel;
  }
}

function endedCall(peer: string, callId: number): SubchannelCall {
  return {
    cancelWithStatus: () => {},
    getPeer: () => peer,
    sendMessageWithContext: (context) => context.callback?.(),
    startRead: () => {},
    halfClose: () => {},
    getCallNumber: () => callId,
    getDeadlineInfo: () => [],
    getAuthContext: () => ({}),
  };
}
