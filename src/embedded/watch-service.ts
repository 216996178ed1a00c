import type { ServerDuplexStream, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Registry } from './registry.js';
import type { WatchRequest, WatchResponse } from './wire.js';

export function watchService(registry: Registry): UntypedServiceImplementation {
  return {
    Watch(stream: ServerDuplexStream<WatchRequest, WatchResponse>) {
      registry.track(stream);
      const session = registry.watches.open((response) =>
        stream.write({ ...response, header: registry.header(response.header.revision) }),
      );
      stream.on('data', (request: WatchRequest) => session.receive(request));
      stream.on('drain', () => session.resume());
      // No 'end': as with etcd, a client that has said all it had to say goes on hearing of events.
      stream.on('cancelled', () => session.close());
      stream.on('close', () => session.close());
      stream.on('error', () => session.close());
    },
  };
}
