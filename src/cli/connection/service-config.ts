import { parse } from 'yaml';
import { LbctlError, messageOf } from '../../core/model/errors.js';
import type { Source } from './source.js';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The `Etcd` block of a go-zero service's yaml (Hosts, User, Pass, CertFile, CertKeyFile, CACertFile,
 * InsecureSkipVerify), in any letter case, with `${VAR}` taken from the environment.
 * @throws USAGE when it is not yaml or has no such block.
 */
export function readServiceConfig(content: Buffer, path: string, env: Environment): Source {
  let root: unknown;
  try {
    root = parse(content.toString('utf8'));
  } catch (error) {
    throw new LbctlError('USAGE', `The service config ${path} is not yaml: ${messageOf(error).split('\n')[0]}`, {
      cause: error,
    });
  }
  const block = field(root, 'etcd');
  if (typeof block !== 'object' || block === null || Array.isArray(block)) {
    throw new LbctlError('USAGE', `The service config ${path} has no Etcd block`, {
      suggestions: ['Expected at the top level: Etcd: {Hosts: [127.0.0.1:2379], Key: user.rpc}'],
    });
  }
  const text = (name: string) => expand(field(block, name), env);
  return {
    name: 'service config',
    endpoints: text('hosts'),
    user: text('user'),
    password: text('pass'),
    cert: text('certfile'),
    tlsKey: text('certkeyfile'),
    cacert: text('cacertfile'),
    skipVerify: text('insecureskipverify'),
  };
}

function field(container: unknown, lowerCaseName: string): unknown {
  if (typeof container !== 'object' || container === null) return undefined;
  return Object.entries(container).find(([name]) => name.toLowerCase() === lowerCaseName)?.[1];
}

/** Variables are put in after parsing: what one holds can then never change the structure of the file. */
function expand(value: unknown, env: Environment): string {
  if (Array.isArray(value)) return value.map((entry) => expand(entry, env)).join(',');
  if (value === undefined || value === null || typeof value === 'object') return '';
  return String(value).replace(/\$\{(\w+)\}/g, (_match, name: string) => env[name] ?? '');
}
