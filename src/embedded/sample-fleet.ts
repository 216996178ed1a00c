import {
  type handleUnaryCall,
  type MethodDefinition,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  status,
} from '@grpc/grpc-js';

/** How one sample instance answers. */
export interface SampleBehaviour {
  readonly name: string;
  readonly weight: number;
  readonly zone: string;
  readonly latencyMs: number;
  /** Answers INTERNAL instead of doing its work. */
  readonly failing?: boolean;
}

export interface SampleInstance extends SampleBehaviour {
  readonly address: string;
}

export interface SampleFleet {
  readonly instances: readonly SampleInstance[];
  close(): void;
}

/** Five instances of one service as an operator meets them: three sound ones, one slow, one that fails fast. */
export const sampleBehaviours: readonly SampleBehaviour[] = [
  { name: 'heavy', weight: 5, zone: 'a', latencyMs: 5 },
  { name: 'steady', weight: 2, zone: 'a', latencyMs: 6 },
  { name: 'restless', weight: 2, zone: 'b', latencyMs: 8 },
  { name: 'slow', weight: 1, zone: 'b', latencyMs: 120 },
  { name: 'failing', weight: 1, zone: 'b', latencyMs: 1, failing: true },
];

/** What the instances are called with; the answer is the instance's name. */
export const samplePath = '/demo.Greeter/Greet';

/** HealthCheckResponse { status = SERVING } */
const serving = Buffer.from([0x08, 0x01]);

const bytes = (value: Buffer): Buffer => value;

/** Starts one gRPC server a behaviour, on free loopback ports; each also answers the standard health check. */
export async function startSampleFleet(behaviours = sampleBehaviours): Promise<SampleFleet> {
  const servers: Server[] = [];
  const close = () => {
    for (const server of servers) server.forceShutdown();
  };
  try {
    const instances: SampleInstance[] = [];
    for (const behaviour of behaviours) {
      const server = new Server();
      servers.push(server);
      server.addService({ Greet: method(samplePath) }, { Greet: answering(behaviour, Buffer.from(behaviour.name)) });
      server.addService({ Check: method('/grpc.health.v1.Health/Check') } satisfies ServiceDefinition, {
        Check: answering(behaviour, serving),
      });
      instances.push({ ...behaviour, address: `127.0.0.1:${await listen(server)}` });
    }
    return { instances, close };
  } catch (error) {
    close();
    throw error;
  }
}

function method(path: string): MethodDefinition<Buffer, Buffer> {
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  };
}

function answering({ failing, latencyMs }: SampleBehaviour, answer: Buffer): handleUnaryCall<Buffer, Buffer> {
  return (_call, callback) => {
    // The call may be gone by then; answering it is harmless.
    setTimeout(() => {
      if (failing) callback({ code: status.INTERNAL, details: 'its database is away' });
      else callback(null, answer);
    }, latencyMs).unref();
  };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}
