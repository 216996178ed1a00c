import {
  type ChannelOptions,
  Client,
  type ClientUnaryCall,
  connectivityState,
  credentials,
  Metadata,
  status,
} from '@grpc/grpc-js';
import { LbctlError, messageOf } from '../../model/errors.js';
import type { CallOutcomeNamed } from '../../operations/call.js';
import type { CallMethod } from './method.js';

export interface CallerOptions {
  readonly target: string;
  /** As `clientOptions` makes them. */
  readonly options: ChannelOptions;
  readonly method: CallMethod;
  /** Deadline of each call. */
  readonly timeoutMs: number;
  readonly metadata: readonly (readonly [name: string, value: string])[];
}

/** Calls one method of one target through grpc-js. Plaintext. */
export class Caller {
  readonly #client: Client;
  readonly #open = new Set<ClientUnaryCall>();
  #isClosed = false;

  /** @throws USAGE for a target that cannot be read, or metadata that cannot be sent. */
  constructor(private readonly settings: CallerOptions) {
    for (const [name, value] of settings.metadata) checkMetadata(name, value);
    this.#client = new Client(settings.target, credentials.createInsecure(), settings.options);
  }

  /** Waits for a connection, at most `ms`; false when there is none, at once when all instances refuse. */
  isReady(ms: number): Promise<boolean> {
    const channel = this.#client.getChannel();
    const deadline = Date.now() + ms;
    return new Promise((resolve) => {
      const look = (error?: Error) => {
        const state = channel.getConnectivityState(true);
        const { IDLE, CONNECTING, READY } = connectivityState;
        if (error || (state !== IDLE && state !== CONNECTING)) return resolve(state === READY);
        channel.watchConnectivityState(state, deadline, look);
      };
      look();
    });
  }

  /** Never rejects; after `close()` CANCELLED. `more` is metadata of this call alone. */
  call(more: readonly (readonly [name: string, value: string])[] = []): Promise<CallOutcomeNamed> {
    if (this.#isClosed)
      return Promise.resolve({ outcome: 'CANCELLED', isError: true, details: 'The client is closed' });
    const { method, metadata, timeoutMs } = this.settings;
    const headers = new Metadata();
    for (const [name, value] of [...metadata, ...more]) headers.add(name, value);
    return new Promise((resolve) => {
      const call = this.#client.makeUnaryRequest(
        method.path,
        (request: Buffer) => request,
        (response: Buffer) => response,
        method.request,
        headers,
        { deadline: Date.now() + timeoutMs },
        (error, response) => {
          this.#open.delete(call);
          if (error === null) {
            const wrong = method.verdict(response ?? Buffer.alloc(0));
            if (wrong === null) resolve({ outcome: 'OK', isError: false, details: '' });
            else resolve({ outcome: wrong, isError: true, details: wrong, wrongAnswerFrom: call.getPeer() });
          } else {
            const isError = !method.answers.includes(error.code);
            resolve({ outcome: status[error.code] ?? `STATUS_${error.code}`, isError, details: error.details });
          }
        },
      );
      this.#open.add(call);
    });
  }

  /** Ends the calls in flight, which then resolve as CANCELLED. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const call of this.#open) call.cancel();
    this.#client.close();
  }
}

/** What HTTP/2 or gRPC itself says; a call that tried to would be refused, again and again, or say something else. */
const reserved =
  /^(:.*|grpc-.*|connection|keep-alive|proxy-connection|transfer-encoding|upgrade|host|te|content-type|user-agent)$/i;

function checkMetadata(name: string, value: string): void {
  if (reserved.test(name)) {
    throw new LbctlError('USAGE', `Metadata "${name}" belongs to the protocol`, {
      suggestions: ['Choose another name, like --metadata x-user-id=42.'],
    });
  }
  try {
    new Metadata().add(name, value);
  } catch (error) {
    throw new LbctlError('USAGE', `Metadata "${name}" cannot be sent: ${messageOf(error)}`, {
      suggestions: ['Write it like --metadata x-user-id=42; names ending in -bin carry bytes and are not supported.'],
    });
  }
}
