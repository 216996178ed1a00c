import { networkInterfaces } from 'node:os';
import { checkAddress } from '../../core/dialects/address.js';
import { checkServiceName } from '../../core/dialects/layout.js';
import { figureOutListenOn } from '../../core/discovery/advertised.js';
import { type HealthTarget, parseHealthTarget } from '../../core/health/target.js';
import { parseDuration, parseTimeout } from '../../core/model/duration.js';
import { LbctlError } from '../../core/model/errors.js';
import { type DialectName, dialectNames } from '../../core/model/instance.js';
import { parseWeight } from '../../core/model/weight.js';

/** The arguments of `register` as written; durations and numbers are still text. */
export interface RegisterArguments {
  readonly service: string;
  readonly address?: string | undefined;
  readonly advertise?: string | undefined;
  readonly id?: string | undefined;
  readonly ttl: string;
  readonly weight: string;
  readonly zone: string;
  readonly versionLabel: string;
  readonly meta: readonly string[];
  readonly dialect: string;
  readonly exclusive: boolean;
  readonly health?: string | undefined;
  readonly drainDelay: string;
  readonly killAfter: string;
}

export interface RegisterRequest {
  readonly service: string;
  /** What clients dial: `host:port`. */
  readonly address: string;
  /** Absent: the layout's own way (go-zero: the lease id in decimal). */
  readonly id?: string;
  readonly ttlSeconds: number;
  readonly weight: number;
  readonly zone: string;
  readonly version: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly dialect: DialectName;
  readonly exclusive: boolean;
  readonly health: HealthTarget | null;
  readonly drainDelayMs: number;
  readonly killAfterMs: number;
}

const maxTtlSeconds = 86_400;

/** @throws USAGE that names the argument and what it may be. */
export function readRequest(given: RegisterArguments, env: NodeJS.ProcessEnv): RegisterRequest {
  checkServiceName(given.service);
  const address = advertised(given, env);
  const dialect = dialectNames.find((name) => name === given.dialect);
  if (!dialect) throw usage(`--dialect "${given.dialect}" is not a layout`, `One of ${dialectNames.join(', ')}.`);
  if (given.id !== undefined && !/^[^\s\p{C}/]+$/u.test(given.id)) {
    throw usage(`--id ${JSON.stringify(given.id)} cannot be part of a key`, 'Leave out blanks, slashes and controls.');
  }
  return {
    service: given.service,
    address,
    ...(given.id !== undefined && { id: given.id }),
    ttlSeconds: ttlSeconds(given.ttl),
    weight: parseWeight(given.weight, '--weight'),
    zone: given.zone,
    version: given.versionLabel,
    metadata: metadata(given.meta),
    dialect,
    exclusive: given.exclusive,
    health: given.health === undefined ? null : parseHealthTarget(given.health, address),
    drainDelayMs: parseTimeout(given.drainDelay, '--drain-delay'),
    killAfterMs: parseTimeout(given.killAfter, '--kill-after'),
  };
}

function advertised(given: RegisterArguments, env: NodeJS.ProcessEnv): string {
  if (given.advertise !== undefined) {
    checkAddress(given.advertise);
    return given.advertise;
  }
  if (given.address === undefined) {
    throw usage('The address to register is missing', `lbctl register ${given.service} HOST:PORT`);
  }
  return figureOutListenOn(given.address, { env, interfaces: networkInterfaces });
}

function ttlSeconds(text: string): number {
  const seconds = /^\d+$/.test(text) ? Number(text) : parseDuration(text) / 1000;
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= maxTtlSeconds) return seconds;
  throw usage(`--ttl "${text}" is not a whole number of seconds from 1 to ${maxTtlSeconds}`, 'For example --ttl 10s.');
}

function metadata(pairs: readonly string[]): Record<string, string> {
  const entries = pairs.map((pair): [string, string] => {
    const at = pair.indexOf('=');
    if (at < 1) throw usage(`--meta "${pair}" is not KEY=VALUE`, 'For example --meta team=payments.');
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  return Object.fromEntries(entries);
}

function usage(message: string, suggestion: string): LbctlError {
  return new LbctlError('USAGE', message, { suggestions: [suggestion] });
}
