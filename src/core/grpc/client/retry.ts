import { status } from '@grpc/grpc-js';
import { LbctlError } from '../../model/errors.js';

/** Which calls are tried again when they fail, on another instance while one is left that the call has not tried. */
export interface RetrySettings {
  /**
   * Methods that may run twice without harm: `package.Service/Method`, or `package.Service` for all of its methods. Only
   * the program knows them, so there is no default.
   */
  readonly methods: readonly string[];
  /** With the first one; 2 to 5, which is what grpc-js allows. 4 when absent. */
  readonly maxAttempts?: number;
  /** Before the second attempt, +-20 %. 100 when absent. */
  readonly initialBackoffMs?: number;
  /** 1000 when absent. */
  readonly maxBackoffMs?: number;
  /** Of the back-off, from one attempt to the next. 2 when absent. */
  readonly multiplier?: number;
  /** Names of gRPC status codes. UNAVAILABLE and RESOURCE_EXHAUSTED when absent. */
  readonly codes?: readonly string[];
}

/** A method's name in a service config; without `method`, all of the service's. */
export interface MethodName {
  readonly service: string;
  readonly method?: string;
}

/** grpc-js silently makes fewer attempts than asked for above this (`grpc-node.retry_max_attempts_limit`). */
const attemptsLimit = 5;

/** The `retryPolicy` of a service config (gRFC A6). @throws USAGE for values that cannot be. */
export function retryPolicy(settings: RetrySettings): object {
  const { maxAttempts = 4, initialBackoffMs = 100, maxBackoffMs = 1000, multiplier = 2 } = settings;
  const { codes = ['UNAVAILABLE', 'RESOURCE_EXHAUSTED'] } = settings;
  if (!Number.isInteger(maxAttempts) || maxAttempts < 2 || maxAttempts > attemptsLimit) {
    throw bad(`maxAttempts ${maxAttempts} is not a whole number from 2 to ${attemptsLimit}`);
  }
  if (!(multiplier > 0 && Number.isFinite(multiplier))) throw bad(`multiplier ${multiplier} is not above 0`);
  if (codes.length === 0) throw bad('codes is empty');
  for (const code of codes) {
    if (!Object.hasOwn(status, code) || code === 'OK') throw bad(`"${code}" is not the name of a failing status code`);
  }
  return {
    maxAttempts,
    initialBackoff: duration(initialBackoffMs, 'initialBackoffMs'),
    maxBackoff: duration(maxBackoffMs, 'maxBackoffMs'),
    backoffMultiplier: multiplier,
    retryableStatusCodes: codes,
  };
}

/** @throws USAGE for a method that is neither `package.Service/Method` nor `package.Service`. */
export function retriedMethods(settings: RetrySettings): readonly MethodName[] {
  if (settings.methods.length === 0) throw bad('methods is empty, so that nothing would be retried');
  return settings.methods.map((text) => {
    const [, service, method] = /^\/?([\w.]+)(?:\/(\w+))?$/.exec(text) ?? [];
    if (service === undefined) throw bad(`"${text}" names no method`);
    return method === undefined ? { service } : { service, method };
  });
}

function duration(ms: number, of: string): string {
  if (!(ms > 0 && ms <= 3_600_000)) throw bad(`${of} ${ms} is not a number of milliseconds up to an hour`);
  return `${(ms / 1000).toFixed(6)}s`;
}

function bad(what: string): LbctlError {
  return new LbctlError('USAGE', `Retry settings: ${what}`, {
    suggestions: ["Write retry: { methods: ['greet.Greeter/SayHello'], maxAttempts: 4, codes: ['UNAVAILABLE'] }"],
  });
}
