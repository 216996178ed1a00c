import { createServer as createHttp, type Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer as createTcp, type Server as TcpServer } from 'node:net';
import {
  Server as GrpcServer,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { probeOnce } from '../../../src/core/health/health-gate.js';
import { probeFor } from '../../../src/core/health/probe.js';
import { parseHealthTarget } from '../../../src/core/health/target.js';
import { systemClock } from '../../../src/core/model/clock.js';

const cleanups: Array<() => unknown> = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

const ask = (target: string, timeoutMs = 2000) =>
  probeOnce(probeFor(parseHealthTarget(target, '127.0.0.1:1')), systemClock, timeoutMs);

async function listen(server: TcpServer | HttpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}

async function closedPort(): Promise<number> {
  const server = createTcp();
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  );
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The health service as google wrote it in protobuf, by hand: field 1 of the request, field 1 of the answer. */
async function grpcServer(answer: (service: string) => number | { code: status; details: string }): Promise<number> {
  const server = new GrpcServer();
  server.addService(
    {
      check: {
        path: '/grpc.health.v1.Health/Check',
        requestStream: false,
        responseStream: false,
        requestDeserialize: (bytes: Buffer) => ({ service: bytes.subarray(2).toString() }),
        requestSerialize: () => Buffer.alloc(0),
        responseSerialize: (value: Buffer) => value,
        responseDeserialize: (value: Buffer) => value,
      },
    },
    {
      check: (call: ServerUnaryCall<{ service: string }, Buffer>, done: sendUnaryData<Buffer>) => {
        const said = answer(call.request.service);
        // With a field 15 (a string) of some later version in front.
        if (typeof said === 'number') done(null, Buffer.from([0x7a, 1, 0x41, ...(said === 0 ? [] : [0x08, said])]));
        else done(said);
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  cleanups.push(() => server.forceShutdown());
  return port;
}

describe('tcp', () => {
  it('is healthy when the port accepts, and leaves no connection open', async () => {
    const server = createTcp();
    const closed = new Promise<void>((resolve) =>
      server.on('connection', (socket) => socket.resume().on('close', () => resolve())),
    );
    const port = await listen(server);
    expect(await ask(`tcp://127.0.0.1:${port}`)).toEqual({ healthy: true, detail: 'accepts connections' });
    await closed;
  });

  it('says why when nobody listens', async () => {
    const result = await ask(`tcp://127.0.0.1:${await closedPort()}`);
    expect(result.healthy).toBe(false);
    expect(result.detail).toContain('ECONNREFUSED');
  });
});

describe('http', () => {
  it.each([
    [200, true],
    [204, true],
    [302, true],
    [404, false],
    [503, false],
  ])('status %d: healthy is %s', async (code, healthy) => {
    const port = await listen(createHttp((_, response) => response.writeHead(code, { location: '/x' }).end('body')));
    expect(await ask(`http://127.0.0.1:${port}/healthz`)).toEqual({ healthy, detail: `answers ${code}` });
  });

  it('a server that accepts and never answers fails at the deadline', async () => {
    const port = await listen(createTcp((socket) => socket.on('error', () => undefined).resume()));
    expect(await ask(`http://127.0.0.1:${port}/`, 100)).toEqual({ healthy: false, detail: 'no answer within 100 ms' });
  });
});

describe('grpc', () => {
  it.each([
    [0, false, 'UNKNOWN'],
    [1, true, 'SERVING'],
    [2, false, 'NOT_SERVING'],
    [3, false, 'SERVICE_UNKNOWN'],
  ])('status %d: healthy is %s', async (value, healthy, detail) => {
    const port = await grpcServer(() => value);
    expect(await ask(`grpc://127.0.0.1:${port}`)).toEqual({ healthy, detail });
  });

  it('asks for the service that was named', async () => {
    const name = `user.${'x'.repeat(100)}`;
    const port = await grpcServer((service) => (service === name ? 1 : 2));
    expect((await ask(`grpc://127.0.0.1:${port}/${name}`)).healthy).toBe(true);
  });

  it('a server that does not know the service is not healthy', async () => {
    const port = await grpcServer(() => ({ code: status.NOT_FOUND, details: 'unknown service' }));
    expect(await ask(`grpc://127.0.0.1:${port}/nope`)).toEqual({
      healthy: false,
      detail: 'the server knows no service "nope"',
    });
  });

  it('a server without the health service is alive, and that is said', async () => {
    const server = new GrpcServer();
    const port = await new Promise<number>((resolve) =>
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_, bound) => resolve(bound)),
    );
    cleanups.push(() => server.forceShutdown());
    expect(await ask(`grpc://127.0.0.1:${port}`)).toEqual({
      healthy: true,
      detail: 'alive, without the gRPC health service',
    });
  });

  it('a server that accepts and hangs fails at the deadline, and its connection is closed', async () => {
    const server = createTcp();
    const closed = new Promise<void>((resolve) =>
      server.on('connection', (socket) => socket.on('close', () => resolve()).resume()),
    );
    const port = await listen(server);
    expect(await ask(`grpc://127.0.0.1:${port}`, 100)).toEqual({ healthy: false, detail: 'no answer within 100 ms' });
    await closed;
  });

  it('a web server is not taken for a gRPC server', async () => {
    const port = await listen(createHttp((_, response) => response.end('hello')));
    expect((await ask(`grpc://127.0.0.1:${port}`)).healthy).toBe(false);
  });

  it('sees a server the moment it is there, however often it was not', async () => {
    const port = await closedPort();
    for (let i = 0; i < 5; i++) expect((await ask(`grpc://127.0.0.1:${port}`)).detail).toContain('ECONNREFUSED');
    const server = new GrpcServer();
    await new Promise<void>((resolve) =>
      server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), () => resolve()),
    );
    cleanups.push(() => server.forceShutdown());
    expect((await ask(`grpc://127.0.0.1:${port}`)).healthy).toBe(true);
  });
});
