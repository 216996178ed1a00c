import path from 'node:path';
import type { PackageDefinition } from '@grpc/proto-loader';
import { LbctlError, messageOf } from '../../model/errors.js';

/** Defaults are wanted where a request is read back (definition.ts). */
export const loading = { keepCase: false, longs: String, enums: String, bytes: String, defaults: true } as const;

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
