import path from 'node:path';
import { type ChannelOptions, credentials, status } from '@grpc/grpc-js';
import type { PackageDefinition } from '@grpc/proto-loader';
import { LbctlError, messageOf } from '../../model/errors.js';
import { parseMethodName } from './method.js';

/** Defaults are wanted where a request is read back (definition.ts). */
const loading = { keepCase: false, longs: String, enums: String, bytes: String, defaults: true } as const;

/** The methods in a .proto file. @throws USAGE when it cannot be read. */
export async function definitionsOfProto(file: string, importPaths: readonly string[]): Promise<PackageDefinition> {
  const { load } = await import('@grpc/proto-loader');
  try {
    return await load(path.resolve(file), { ...loading, includeDirs: [path.dirname(file), ...importPaths] });
  } catch (error) {
    throw new LbctlError('USAGE', `Cannot read ${file}: ${messageOf(error)}`, {
      cause: error,
      suggestions: ['Imports are looked for in the folders given with --import-path.'],
    });
  }
}

/**
 * What a running server tells of the service of `method` by reflection (v1, then v1alpha).
 * @throws CHECK_FAILED when it offers no reflection or does not answer; NOT_FOUND when it has no such service.
 */
export async function definitionsByReflection(
  target: string,
  options: ChannelOptions,
  method: string,
  timeoutMs: number,
): Promise<PackageDefinition> {
  const { service } = parseMethodName(method);
  // A CommonJS package whose names Node itself cannot see, though other loaders can.
  const loaded = await import('grpc-js-reflection-client');
  const { GrpcReflection } = loaded.default ?? loaded;
  let failure: unknown;
  for (const version of ['v1', 'v1alpha']) {
    const reflection = new GrpcReflection(target, credentials.createInsecure(), options, version);
    try {
      const deadline = Date.now() + timeoutMs;
      const descriptor = await reflection.getDescriptorBySymbol(service, undefined, { deadline });
      return descriptor.getPackageDefinition(loading);
    } catch (error) {
      failure = error;
      if (codeOf(error) !== status.UNIMPLEMENTED) break;
    } finally {
      (reflection as unknown as { client?: { close?(): void } }).client?.close?.();
    }
  }
  if (codeOf(failure) === status.NOT_FOUND || /not found/i.test(messageOf(failure))) {
    throw new LbctlError('NOT_FOUND', `The server knows no service ${service}: ${messageOf(failure)}`);
  }
  const isMissing = codeOf(failure) === status.UNIMPLEMENTED;
  throw new LbctlError(
    'CHECK_FAILED',
    isMissing
      ? 'The server offers no reflection, so the messages of the method are not known'
      : `Asking the server for its methods failed: ${messageOf(failure)}`,
    { cause: failure, suggestions: isMissing ? ['Give the file that describes it: --proto greet.proto'] : [] },
  );
}

/** The gRPC status of a failure; the client wraps it in an error of its own, which only repeats the text. */
function codeOf(error: unknown): number | undefined {
  if (typeof error === 'object' && error !== null && 'code' in error) return Number(error.code);
  const [, code] = /(?:^|: )(\d+) [A-Z_]+:/.exec(messageOf(error)) ?? [];
  return code === undefined ? undefined : Number(code);
}
