import {
  type handleUnaryCall,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';

const bytes = (value: Buffer): Buffer => value;

export const echo: MethodDefinition<Buffer, Buffer> = {
  path: '/test.Echo/Echo',
  requestStream: false,
  responseStream: false,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
};

export type EchoHandler = handleUnaryCall<Buffer, Buffer>;

export interface EchoServer {
  /** `127.0.0.1:port`. */
  readonly address: string;
  readonly port: number;
  /** Cuts all connections and frees the port. */
  stop(): void;
}

/** A real gRPC server on loopback with one method; it answers with the bytes that it got, unless `handler` does else. */
export async function startEchoServer(handler?: EchoHandler, port = 0, host = '127.0.0.1'): Promise<EchoServer> {
  const server = new Server();
  const service: ServiceDefinition = { Echo: echo };
  const answer: EchoHandler = handler ?? ((call, callback) => callback(null, call.request));
  const implementation: UntypedServiceImplementation = { Echo: answer };
  server.addService(service, implementation);
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${host}:${port}`, ServerCredentials.createInsecure(), (error, actual) =>
      error === null ? resolve(actual) : reject(error),
    );
  });
  return { address: `127.0.0.1:${bound}`, port: bound, stop: () => server.forceShutdown() };
}
