import { createServer, type Socket } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { describe, expect, it } from 'vitest';
import { methodOf } from '../../../../src/core/grpc/calls/definition.js';
import { definitionsByReflection } from '../../../../src/core/grpc/calls/reflection.js';
import { clientOptions } from '../../../../src/core/grpc/client/client-options.js';
import { cleanUp } from '../harness.js';

const proto = loadSync('test/fixtures/echo.proto');
const options = () => clientOptions({ policy: 'round_robin' });

/** A server that speaks these versions of reflection. */
async function serve(versions: ReadonlyArray<'v1' | 'v1alpha'>): Promise<string> {
  const server = new Server();
  // Both, as the package adds them; one that is not wanted is taken away again.
  new ReflectionService(proto).addToServer(server);
  for (const version of ['v1', 'v1alpha'] as const) {
    if (!versions.includes(version)) {
      server.unregister(`/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`);
    }
  }
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  cleanUp(() => server.forceShutdown());
  return `direct:///127.0.0.1:${port}`;
}

describe('reflection', () => {
  it.each([[['v1', 'v1alpha']], [['v1']], [['v1alpha']]] as const)(
    'of a server that speaks %j gives the method',
    async (versions) => {
      const definitions = await definitionsByReflection(await serve(versions), options(), 'test.Echo/Say', 5000);
      const { path, request } = methodOf(definitions, 'test.Echo/Say', { text: 'hi', repeat_times: 3 });
      expect([path, request.toString('hex')]).toEqual(['/test.Echo/Say', '0a0268691003']);
    },
  );

  it('that is not there says what to do', async () => {
    const failure = definitionsByReflection(await serve([]), options(), 'test.Echo/Say', 5000);
    await expect(failure).rejects.toMatchObject({
      code: 'CHECK_FAILED',
      suggestions: ['Give the file that describes it: --proto greet.proto'],
    });
  });

  it('that knows no such service is NOT_FOUND', async () => {
    const failure = definitionsByReflection(await serve(['v1']), options(), 'test.Nope/Say', 5000);
    await expect(failure).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('of a server that accepts and says nothing ends at its deadline', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => sockets.add(socket.on('error', () => {})));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    cleanUp(() => {
      for (const socket of sockets) socket.destroy();
      silent.close();
    });
    const { port } = silent.address() as { port: number };
    const startedAt = performance.now();
    const failure = definitionsByReflection(`direct:///127.0.0.1:${port}`, options(), 'test.Echo/Say', 300);
    await expect(failure).rejects.toMatchObject({ code: 'CHECK_FAILED' });
    expect(performance.now() - startedAt).toBeLessThan(3000);
  });
});
