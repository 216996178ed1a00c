import {
  type CallOptions,
  type ChannelOptions,
  Client,
  type ClientUnaryCall,
  credentials,
  Metadata,
} from '@grpc/grpc-js';
import { echo } from './grpc-server.js';

export interface Answer {
  /** gRPC status code; 0 is OK. */
  readonly code: number;
  readonly details: string;
}

/** A client of the echo servers. */
export class EchoClient {
  readonly #client: Client;

  constructor(target: string, options: ChannelOptions) {
    this.#client = new Client(target, credentials.createInsecure(), options);
  }

  call(metadata = new Metadata(), options: CallOptions = {}): Promise<Answer> & { readonly call: ClientUnaryCall } {
    let call: ClientUnaryCall | undefined;
    const answer = new Promise<Answer>((resolve) => {
      const deadline = options.deadline ?? Date.now() + 5000;
      call = this.#client.makeUnaryRequest(
        echo.path,
        echo.requestSerialize,
        echo.responseDeserialize,
        Buffer.from('x'),
        metadata,
        { ...options, deadline },
        (error) => resolve({ code: error?.code ?? 0, details: error?.details ?? '' }),
      );
    });
    return Object.assign(answer, { call: call as ClientUnaryCall });
  }

  calls(n: number): Promise<Answer[]> {
    return Promise.all(Array.from({ length: n }, () => this.call()));
  }

  isReady(): Promise<boolean> {
    return new Promise((resolve) => this.#client.waitForReady(Date.now() + 5000, (error) => resolve(!error)));
  }

  connectivity(): number {
    return this.#client.getChannel().getConnectivityState(false);
  }

  close(): void {
    this.#client.close();
  }
}
