/** Real gRPC servers that answer with their own name, and a client that calls them, for tests of resolvers. */
import {
  type ChannelOptions,
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';

const text = { serialize: (value: string) => Buffer.from(value), deserialize: (bytes: Buffer) => bytes.toString() };
const path = '/greet.Greeter/Name';
const definition: ServiceDefinition = {
  name: {
    path,
    ...{ requestStream: false, responseStream: false },
    ...{ requestSerialize: text.serialize, requestDeserialize: text.deserialize },
    ...{ responseSerialize: text.serialize, responseDeserialize: text.deserialize },
  },
};

export interface Greeter {
  readonly address: string;
  stop(): void;
}

export async function startGreeter(): Promise<Greeter> {
  const server = new Server();
  let address = '';
  const implementation: UntypedServiceImplementation = {
    name: (_: unknown, answer: (error: null, name: string) => void) => answer(null, address),
  };
  server.addService(definition, implementation);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  address = `127.0.0.1:${port}`;
  return { address, stop: () => server.forceShutdown() };
}

export class GreetClient {
  readonly client: Client;

  constructor(target: string, options: ChannelOptions = {}) {
    this.client = new Client(target, credentials.createInsecure(), {
      'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
      ...options,
    });
  }

  /** The address of the server that answered. */
  name({ waitForReady = false, timeoutMs = 5000 } = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + timeoutMs };
      this.client.makeUnaryRequest(
        ...([path, text.serialize, text.deserialize, 'who'] as const),
        ...([new Metadata({ waitForReady }), options] as const),
        (error: ServiceError | null, name?: string) => (error ? reject(error) : resolve(name ?? '')),
      );
    });
  }

  /** The servers that answer `count` calls, sorted. */
  async names(count = 12): Promise<string> {
    const names = await Promise.all(Array.from({ length: count }, () => this.name()));
    return [...new Set(names)].sort().join(' ');
  }

  close(): void {
    this.client.close();
  }
}
