import { readFileSync } from 'node:fs';
import { isKeyed, policyNamed } from '../../core/balancer/policies.js';
import { defaultHashKeyHeaders } from '../../core/grpc/policies/policy-config.js';
import { parseDuration, parseTimeout } from '../../core/model/duration.js';
import { LbctlError, messageOf } from '../../core/model/errors.js';
import type { CallPlan } from '../../core/operations/call.js';

/** The flags of `call`, as oclif hands them over. */
export interface CallFlags {
  readonly policy?: readonly string[] | undefined;
  readonly method?: string | undefined;
  readonly proto?: string | undefined;
  readonly 'import-path'?: readonly string[] | undefined;
  readonly data?: string | undefined;
  readonly metadata?: readonly string[] | undefined;
  readonly key?: string | undefined;
  readonly count?: number | undefined;
  readonly duration?: string | undefined;
  readonly rps?: string | undefined;
  readonly concurrency?: number | undefined;
  readonly timeout: string;
  readonly retry: boolean;
}

export interface CallRequest {
  readonly policies: readonly string[];
  /** Null: the standard health check. */
  readonly method: {
    readonly name: string;
    readonly proto: string | null;
    readonly importPaths: readonly string[];
    readonly data: unknown;
  } | null;
  readonly metadata: readonly (readonly [name: string, value: string])[];
  /** `{n}` in it stands for the number of the call. */
  readonly key: string | null;
  readonly plan: CallPlan;
  readonly timeoutMs: number;
  readonly retry: boolean;
}

const defaultCount = 10;
/** With a rate: so many calls may be in flight before further ones are held back. */
const defaultMostInFlight = 1000;
const defaultPolicy = 'p2c_ewma';

/** @throws USAGE for whatever cannot be done, with what to write instead. */
export function callRequest(flags: CallFlags): CallRequest {
  const rps = flags.rps === undefined ? null : rate(flags.rps);
  const durationMs = flags.duration === undefined ? null : durationOf(flags.duration);
  const policies = (flags.policy ?? [defaultPolicy]).flatMap((list) => list.split(',')).map(policyNamed);
  if (new Set(policies).size < policies.length) throw usage('--policy names one twice', 'Name each once.');
  if (flags.method === undefined && (flags.proto !== undefined || flags.data !== undefined)) {
    const given = flags.proto === undefined ? '--data' : '--proto';
    throw usage(`${given} is for a method, and none is named`, 'Add --method pkg.Service/Method.');
  }
  if (flags['import-path'] !== undefined && flags.proto === undefined) {
    throw usage('--import-path is for the imports of a --proto, and none is given', 'Add --proto FILE.');
  }
  const metadata = (flags.metadata ?? []).map(pair);
  // An empty one counts as none, as for go-zero's clients.
  const hasKey =
    Boolean(flags.key) ||
    metadata.some(([name, value]) => value !== '' && defaultHashKeyHeaders.includes(name.toLowerCase()));
  const keyed = policies.find(isKeyed);
  if (keyed !== undefined && !hasKey) {
    throw usage(`${keyed} needs the hash key of each call`, "Add --key user:42, or --key 'user:{n}' for one a call.");
  }
  if (flags.key !== undefined && !/^[\x20-\x7e]+$/.test(flags.key)) {
    throw usage('--key holds what no header can carry', 'A key of a call is printable ASCII, and not empty.');
  }
  return {
    policies,
    method:
      flags.method === undefined
        ? null
        : {
            name: flags.method,
            proto: flags.proto ?? null,
            importPaths: flags['import-path'] ?? [],
            data: flags.data === undefined ? {} : dataOf(flags.data),
          },
    metadata,
    key: flags.key ?? null,
    plan: {
      count: flags.count ?? (durationMs === null ? defaultCount : null),
      durationMs,
      rps,
      concurrency: flags.concurrency ?? (rps === null ? 1 : defaultMostInFlight),
    },
    timeoutMs: parseTimeout(flags.timeout, '--timeout') || refuseZero(flags.timeout),
    retry: flags.retry,
  };
}

function refuseZero(text: string): never {
  throw usage(`--timeout "${text}": a call needs a deadline above zero`, 'Write it like --timeout 2s.');
}

function durationOf(text: string): number {
  const ms = parseDuration(text);
  if (ms > 0) return ms;
  throw usage(`--duration "${text}" is not above zero`, 'Write it like --duration 10s.');
}

function rate(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value > 0 && value <= 100_000) return value;
  throw usage(`--rps "${text}" is not a number above 0 and at most 100000`, 'Write it like --rps 100.');
}

function pair(text: string): readonly [string, string] {
  const equals = text.indexOf('=');
  if (equals < 1) throw usage(`--metadata "${text}" is no name=value`, 'Write it like --metadata x-user-id=42.');
  return [text.slice(0, equals), text.slice(equals + 1)];
}

function dataOf(text: string): unknown {
  const source = text.startsWith('@') ? fileOf(text.slice(1)) : text;
  try {
    return JSON.parse(source);
  } catch (error) {
    throw usage(
      `--data is no JSON: ${messageOf(error)}`,
      `Write it like --data '{"name": "ann"}' or --data @file.json.`,
    );
  }
}

function fileOf(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw usage(`Cannot read --data @${path}: ${messageOf(error)}`, `Check the path: ls -l ${path}`);
  }
}

function usage(message: string, suggestion: string): LbctlError {
  return new LbctlError('USAGE', message, { suggestions: [suggestion] });
}
