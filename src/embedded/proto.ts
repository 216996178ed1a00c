import { createRequire } from 'node:module';
import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

const sizes = new WeakMap<object, number>();

/** Bytes that a request took on the wire; etcd's limits are about them. */
export const wireSize = (request: object): number => sizes.get(request) ?? 0;

/**
 * etcd's services by their short name (`KV`, `Watch`…), from the .proto files of the etcd3 package: found by module
 * resolution, because this code may run from a bundle.
 */
export function loadServices(): (name: string) => ServiceDefinition {
  const file = createRequire(import.meta.url).resolve('etcd3/proto/rpc.proto');
  const definitions = loadSync(file, { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true });
  return (name) => {
    const definition = definitions[`etcdserverpb.${name}`];
    if (!definition || 'format' in definition) throw new Error(`${file} defines no service ${name}`);
    return Object.fromEntries(
      Object.entries(definition).map(([method, spec]) => [
        method,
        {
          ...spec,
          requestDeserialize(bytes: Buffer) {
            const request = spec.requestDeserialize(bytes);
            sizes.set(request, bytes.length);
            return request;
          },
        },
      ]),
    );
  };
}
