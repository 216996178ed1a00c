import { checkAddress } from '../dialects/address.js';
import { parseEndpoint } from '../etcd/endpoints.js';
import { keyFromBytes, keyToBytes } from '../etcd/key-text.js';
import { LbctlError, messageOf } from '../model/errors.js';

/** A fixed list of instances. */
export interface DirectTarget {
  /** Instances are written into the target itself. */
  readonly scheme: 'direct';
  /** `host:port`, an IPv6 host in brackets; in the order given. */
  readonly addresses: readonly string[];
}

/** A service in etcd. */
export interface EtcdTarget {
  /** go-zero writes `discov` in old code and `etcd` in new: one meaning. */
  readonly scheme: 'etcd' | 'discov';
  /** etcd endpoints, as written. */
  readonly hosts: readonly string[];
  /** The service; a byte that is not UTF-8 as in etcd/key-text.ts. */
  readonly key: string;
}

/** The ready pods behind a service of Kubernetes. */
export interface KubernetesTarget {
  /** Instances come from the EndpointSlices of the service. */
  readonly scheme: 'k8s';
  /** Of the service; `default` when the text names none. */
  readonly namespace: string;
  /** Its name within the namespace. */
  readonly service: string;
  /** A port of the pods; null: the one that their EndpointSlice names. */
  readonly port: number | null;
}

/** Where a gRPC client finds its instances: what the text of a target says. */
export type Target = DirectTarget | EtcdTarget | KubernetesTarget;

const examples = {
  direct: 'direct:///10.0.0.1:8080,10.0.0.2:8080',
  etcd: 'etcd:///10.0.0.1:2379,10.0.0.2:2379?key=greet.rpc',
  discov: 'discov:///10.0.0.1:2379,10.0.0.2:2379?key=greet.rpc',
  k8s: 'k8s://default/greet:8080',
} as const;

export type TargetScheme = keyof typeof examples;
export const targetSchemes = Object.keys(examples) as TargetScheme[];

/**
 * Reads a target of any of the schemes, also go-zero's legacy form `etcd://h1:2379,h2:2379/key`. WHATWG's URL cannot:
 * it refuses more than one host.
 * @throws USAGE, saying what is wrong and what a good target looks like.
 */
export function parseTarget(text: string): Target {
  const [, scheme = '', authority = '', path = '', query, fragment] =
    /^([a-z0-9+.-]+):\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?(#.*)?$/is.exec(text) ?? [];
  if (!isScheme(scheme)) {
    const why = scheme === '' ? 'it does not start with a scheme and ://' : `the scheme "${scheme}" is not known`;
    throw malformed(text, why, examples.etcd);
  }
  const refuse = (why: string) => malformed(text, why, examples[scheme]);
  if (fragment !== undefined) throw refuse('a # in it must be written %23');
  const trimmed = path.replace(/^\/+|\/+$/g, '');
  if (scheme === 'etcd' || scheme === 'discov') {
    const isLegacy = authority !== '';
    const hosts = listOf(isLegacy ? authority : trimmed);
    if (hosts.length === 0) throw refuse('it names no etcd endpoint');
    for (const host of hosts) attempt(() => parseEndpoint(host, false), refuse);
    const key = isLegacy ? unescapeBytes(trimmed) : keyParameter(query ?? '', refuse);
    if (key === null)
      throw refuse('a % in its key is not followed by two hexadecimal digits (a plain % is written %25)');
    if (key === '') throw refuse(isLegacy ? 'no key follows the endpoints' : 'the parameter "key" is missing or empty');
    return { scheme, hosts, key };
  }
  if (query !== undefined) throw refuse('it takes no parameters');
  if (scheme === 'direct') {
    const addresses = listOf(trimmed);
    if (addresses.length === 0) throw refuse('it names no address (they follow three slashes)');
    for (const address of addresses) attempt(() => checkAddress(address), refuse);
    return { scheme, addresses };
  }
  return kubernetesTarget(authority || 'default', trimmed, refuse);
}

/** The text that `parseTarget` reads back as the same target, and go-zero as well. */
export function formatTarget(target: Target): string {
  switch (target.scheme) {
    case 'direct':
      return `direct:///${target.addresses.join(',')}`;
    case 'k8s':
      return `k8s://${target.namespace}/${target.service}${target.port === null ? '' : `:${target.port}`}`;
    default:
      return `${target.scheme}:///${target.hosts.join(',')}?key=${escapeKey(target.key)}`;
  }
}

/** What the service is called, for people; a list of addresses has no name, and is called `direct`. */
export function serviceNameOf(target: Target): string {
  switch (target.scheme) {
    case 'direct':
      return 'direct';
    case 'k8s':
      return `${target.namespace}/${target.service}`;
    default:
      return target.key;
  }
}

function isScheme(text: string): text is TargetScheme {
  return Object.hasOwn(examples, text);
}

function malformed(text: string, why: string, example: string): LbctlError {
  return new LbctlError('USAGE', `${JSON.stringify(text)} is not a target: ${why}. A good one is ${example}`, {
    suggestions: targetSchemes.map((scheme) => examples[scheme]),
  });
}

function attempt(check: () => void, refuse: (why: string) => LbctlError): void {
  try {
    check();
  } catch (error) {
    throw refuse(messageOf(error));
  }
}

function listOf(text: string): string[] {
  return text.split(',').filter((part) => part !== '');
}

const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

function kubernetesTarget(namespace: string, rest: string, refuse: (why: string) => LbctlError): KubernetesTarget {
  const colon = rest.indexOf(':');
  const service = colon < 0 ? rest : rest.slice(0, colon);
  const port = colon < 0 ? null : rest.slice(colon + 1);
  if (!label.test(namespace)) throw refuse(`${JSON.stringify(namespace)} cannot be a namespace`);
  if (service === '') throw refuse('it names no service');
  if (!label.test(service)) throw refuse(`${JSON.stringify(service)} cannot be a service`);
  if (port === '') throw refuse('no port follows the colon');
  if (port !== null && !(/^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535)) {
    throw refuse(`${JSON.stringify(port)} is not a port: it takes a number from 1 to 65535`);
  }
  return { scheme: 'k8s', namespace, service, port: port === null ? null : Number(port) };
}

/** The first `key`, as Go's url.Values.Get; other parameters are none of ours. Null: a malformed escape. */
function keyParameter(query: string, refuse: (why: string) => LbctlError): string | null {
  for (const pair of query.split('&')) {
    const equals = pair.indexOf('=');
    const name = equals < 0 ? pair : pair.slice(0, equals);
    if (unescapeBytes(name.replaceAll('+', ' ')) !== 'key') continue;
    // Go drops such a pair, and would then look for instances of a service without a name.
    if (pair.includes(';')) throw refuse('a ; in its key must be written %3B');
    return equals < 0 ? '' : unescapeBytes(pair.slice(equals + 1).replaceAll('+', ' '));
  }
  return '';
}

function unescapeBytes(text: string): string | null {
  if (/%(?![0-9a-f]{2})/i.test(text)) return null;
  const parts = text.split(/((?:%[0-9a-f]{2})+)/i);
  const bytes = parts.map((part, index) =>
    index % 2 === 1 ? Buffer.from(part.replaceAll('%', ''), 'hex') : keyToBytes(part),
  );
  return keyFromBytes(Buffer.concat(bytes));
}

/** Go's url.QueryEscape. encodeURIComponent leaves `*!'()` alone and makes a space %20; URLSearchParams escapes `~`. */
export function escapeKey(key: string): string {
  let escaped = '';
  for (const byte of keyToBytes(key)) {
    const character = String.fromCharCode(byte);
    if (/[A-Za-z0-9\-_.~]/.test(character)) escaped += character;
    else escaped += byte === 0x20 ? '+' : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return escaped;
}
