import { type ChannelOptions, credentials, Metadata, status } from '@grpc/grpc-js';
import type { PackageDefinition } from '@grpc/proto-loader';
import { GrpcReflection } from 'grpc-js-reflection-client';
import { systemClock, type Timer } from '../../model/clock.js';
import { LbctlError, messageOf } from '../../model/errors.js';
import { loading } from './describe.js';
import { parseMethodName } from './method.js';

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
  let failure: unknown;
  for (const version of ['v1', 'v1alpha']) {
    try {
      return await ask(version, target, options, service, timeoutMs);
    } catch (error) {
      failure = error;
      if (codeOf(error) !== status.UNIMPLEMENTED) break;
    }
  }
  throw failureOf(failure, service);
}

async function ask(
  version: string,
  target: string,
  options: ChannelOptions,
  service: string,
  timeoutMs: number,
): Promise<PackageDefinition> {
  const reflection = new GrpcReflection(target, credentials.createInsecure(), options, version);
  let timer: Timer | undefined;
  // The calls have a deadline, but the library also waits when a server ends its stream without an answer.
  const limit = new Promise<never>((_, reject) => {
    timer = systemClock.timer(timeoutMs, () => reject(new Error(`no answer within ${timeoutMs} ms`)));
  });
  // Without a Metadata of its own, grpc-js takes `undefined` for the call options and drops the deadline.
  const descriptor = reflection.getDescriptorBySymbol(service, new Metadata(), { deadline: Date.now() + timeoutMs });
  try {
    return (await Promise.race([descriptor, limit])).getPackageDefinition(loading);
  } finally {
    timer?.cancel();
    (reflection as unknown as { readonly client: { close(): void } }).client.close();
  }
}

function failureOf(failure: unknown, service: string): LbctlError {
  const code = codeOf(failure);
  const details = { cause: failure };
  if (code === status.UNIMPLEMENTED) {
    return new LbctlError(
      'CHECK_FAILED',
      'The server offers no reflection, so the messages of the method are not known',
      {
        ...details,
        suggestions: ['Give the file that describes it: --proto greet.proto'],
      },
    );
  }
  // An answer of the reflection service itself comes without a status; of a symbol, only that it is not there.
  if (code === status.NOT_FOUND || /not found/i.test(messageOf(failure))) {
    return new LbctlError('NOT_FOUND', `The server knows no service ${service}: ${messageOf(failure)}`, details);
  }
  return new LbctlError('CHECK_FAILED', `Asking the server for its methods failed: ${messageOf(failure)}`, details);
}

/** The gRPC status of a failure; the client wraps it in an error of its own, which only repeats the text. */
function codeOf(error: unknown): number | undefined {
  const [, code] = /(?:^|: )(\d+) [A-Z_]+:/.exec(messageOf(error)) ?? [];
  return code === undefined ? undefined : Number(code);
}
