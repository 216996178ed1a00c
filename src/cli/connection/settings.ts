import { readFile as readFileOf } from 'node:fs/promises';
import type { EtcdSettings } from '../../core/etcd/port.js';
import { parseTimeout } from '../../core/model/duration.js';
import { LbctlError, messageOf } from '../../core/model/errors.js';
import type { ConnectionFlagValues } from '../flags.js';
import type { Source } from './source.js';

type Environment = Readonly<Record<string, string | undefined>>;
type ReadFile = (path: string) => Promise<Buffer>;

export interface ConnectionSettings {
  readonly etcd: EtcdSettings;
  /** Things to say on stderr before connecting. */
  readonly warnings: readonly string[];
}

/**
 * The settings by precedence: flags, LBCTL_*, ETCDCTL_*, the go-zero file, the default.
 * @throws USAGE when a value cannot be used, with what to write instead.
 */
export async function resolveSettings(
  flags: ConnectionFlagValues,
  env: Environment,
  readFile: ReadFile = readFileOf,
): Promise<ConnectionSettings> {
  const sources = [flagSource(flags), lbctlSource(env), etcdctlSource(env)];
  const configPath = flags['service-config'] || env.LBCTL_SERVICE_CONFIG;
  if (configPath) {
    // The yaml parser is loaded for those who need it.
    const { readServiceConfig } = await import('./service-config.js');
    sources.push(readServiceConfig(await load(readFile, configPath, 'service config'), configPath, env));
  }
  sources.push({ name: 'default', endpoints: '127.0.0.1:2379', dialTimeout: '2s', commandTimeout: '5s' });

  const first = (field: Exclude<keyof Source, 'name'>) => sources.find((source) => source[field])?.[field];
  const endpoints = splitEndpoints(first('endpoints') ?? '');
  const tls = await resolveTls(first, readFile);
  const auth = await resolveAuth(sources, readFile);
  return {
    etcd: {
      endpoints,
      ...(tls && { tls }),
      ...(auth && { auth }),
      dialTimeoutMs: timeout('--dial-timeout', first('dialTimeout')),
      commandTimeoutMs: timeout('--command-timeout', first('commandTimeout')),
    },
    warnings: (flags.user ?? '').includes(':')
      ? ['The password in --user can be read by every process on this host: use --password-file or LBCTL_PASSWORD.']
      : [],
  };
}

function flagSource(flags: ConnectionFlagValues): Source {
  return {
    name: 'flags',
    endpoints: flags.endpoints?.join(','),
    ...splitUser(flags.user),
    passwordFile: flags['password-file'],
    cacert: flags.cacert,
    cert: flags.cert,
    tlsKey: flags['tls-key'],
    skipVerify: flags['insecure-skip-tls-verify'] ? 'true' : '',
    dialTimeout: flags['dial-timeout'],
    commandTimeout: flags['command-timeout'],
  };
}

function lbctlSource(env: Environment): Source {
  const account = splitUser(env.LBCTL_USER);
  return {
    name: 'LBCTL_*',
    endpoints: env.LBCTL_ENDPOINTS,
    user: account.user,
    password: account.password || env.LBCTL_PASSWORD,
    passwordFile: env.LBCTL_PASSWORD_FILE,
    cacert: env.LBCTL_CACERT,
    cert: env.LBCTL_CERT,
    tlsKey: env.LBCTL_TLS_KEY,
    skipVerify: env.LBCTL_INSECURE_SKIP_TLS_VERIFY,
    dialTimeout: env.LBCTL_DIAL_TIMEOUT,
    commandTimeout: env.LBCTL_COMMAND_TIMEOUT,
  };
}

function etcdctlSource(env: Environment): Source {
  const account = splitUser(env.ETCDCTL_USER);
  return {
    name: 'ETCDCTL_*',
    endpoints: env.ETCDCTL_ENDPOINTS,
    user: account.user,
    password: account.password || env.ETCDCTL_PASSWORD,
    cacert: env.ETCDCTL_CACERT,
    cert: env.ETCDCTL_CERT,
    tlsKey: env.ETCDCTL_KEY,
    skipVerify: env.ETCDCTL_INSECURE_SKIP_TLS_VERIFY,
    dialTimeout: env.ETCDCTL_DIAL_TIMEOUT,
    commandTimeout: env.ETCDCTL_COMMAND_TIMEOUT,
  };
}

/** Their form is checked by `connect()`; an account in them is refused here, before any message can repeat it. */
function splitEndpoints(text: string): string[] {
  if (text.includes('@')) {
    throw new LbctlError('USAGE', 'An endpoint holds an account', {
      suggestions: ['Use --user and --password-file, and write endpoints as host:port.'],
    });
  }
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** `name` or `name:password`, as etcdctl takes it. A password may contain colons, a name may not. */
function splitUser(text: string | undefined): { user?: string; password?: string } {
  if (!text) return {};
  const colon = text.indexOf(':');
  return colon < 0 ? { user: text } : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

async function resolveTls(
  first: (field: Exclude<keyof Source, 'name'>) => string | undefined,
  readFile: ReadFile,
): Promise<EtcdSettings['tls']> {
  const [cacert, cert, key] = [first('cacert'), first('cert'), first('tlsKey')];
  const skipVerify = isTrue(first('skipVerify'));
  if (Boolean(cert) !== Boolean(key)) {
    const [given, missing] = cert ? ['--cert', '--tls-key'] : ['--tls-key', '--cert'];
    throw new LbctlError('USAGE', `A client certificate needs its key: ${given} is set, ${missing} is not`, {
      suggestions: [`Set ${missing} too.`],
    });
  }
  if (!cacert && !cert && !skipVerify) return undefined;
  return {
    ...(cacert && { ca: await load(readFile, cacert, 'CA certificate') }),
    ...(cert && { cert: await load(readFile, cert, 'client certificate') }),
    ...(key && { key: await load(readFile, key, 'client key') }),
    ...(skipVerify && { skipVerify }),
  };
}

async function resolveAuth(sources: readonly Source[], readFile: ReadFile): Promise<EtcdSettings['auth']> {
  const owner = sources.find((source) => source.user);
  if (!owner?.user) return undefined;
  // The password in a service's file belongs to the user in that file, not to one named elsewhere.
  const candidates = sources.filter(
    (source) => source === owner || source.name.endsWith('*') || source.name === 'flags',
  );
  for (const source of candidates) {
    if (source.password) return { user: owner.user, password: source.password };
    if (source.passwordFile) {
      const text = (await load(readFile, source.passwordFile, 'password file')).toString('utf8').replace(/\r?\n$/, '');
      if (text !== '') return { user: owner.user, password: text };
      throw new LbctlError('USAGE', `The password file ${source.passwordFile} is empty`);
    }
  }
  throw new LbctlError('USAGE', `User "${owner.user}" was given without a password`, {
    suggestions: ['Use --password-file FILE, or set LBCTL_PASSWORD.'],
  });
}

async function load(readFile: ReadFile, path: string, what: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new LbctlError('USAGE', `Cannot read the ${what} ${path}: ${messageOf(error)}`, {
      cause: error,
      suggestions: [`Check the path and its permissions: ls -l ${path}`],
    });
  }
}

function timeout(flag: string, text: string | undefined): number {
  const ms = parseTimeout(text ?? '', flag);
  if (ms > 0) return ms;
  throw new LbctlError('USAGE', `${flag} "${text}" is not a duration above zero`, {
    suggestions: [`Write it like ${flag} 5s or ${flag} 300ms.`],
  });
}

function isTrue(text: string | undefined): boolean {
  return text !== undefined && ['1', 't', 'true', 'yes', 'on'].includes(text.toLowerCase());
}
