import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How one sample instance answers. */
export interface SampleBehaviour {
  readonly name: string;
  readonly weight: number;
  readonly zone: string;
  readonly latencyMs: number;
  /** Answers 500 at once instead of doing its work. */
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
  { name: 'steady-a', weight: 2, zone: 'a', latencyMs: 5 },
  { name: 'steady-b', weight: 2, zone: 'b', latencyMs: 8 },
  { name: 'slow', weight: 1, zone: 'b', latencyMs: 80 },
  { name: 'failing', weight: 1, zone: 'b', latencyMs: 1, failing: true },
];

/** Starts one HTTP server a behaviour, on free loopback ports. */
export async function startSampleFleet(behaviours = sampleBehaviours): Promise<SampleFleet> {
  const servers: Server[] = [];
  const close = () => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  };
  try {
    const instances: SampleInstance[] = [];
    for (const behaviour of behaviours) {
      const server = createServer((_request, response) => {
        const answer = () => {
          response.statusCode = behaviour.failing ? 500 : 200;
          response.end(behaviour.name);
        };
        // The request may be gone by then; answering it is harmless.
        setTimeout(answer, behaviour.latencyMs).unref();
      });
      servers.push(server);
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject);
        server.listen(0, '127.0.0.1', resolve);
      });
      const { port } = server.address() as AddressInfo;
      instances.push({ ...behaviour, address: `127.0.0.1:${port}` });
    }
    return { instances, close };
  } catch (error) {
    close();
    throw error;
  }
}
