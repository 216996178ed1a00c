import { LbctlError } from '../model/errors.js';
import { type DialectName, dialectNames } from '../model/instance.js';
import type { Decoded } from './codec.js';
import { codecs, detect } from './detect.js';

/** Where each layout keeps its services; a service `s` lives under `<prefix><s>/`. */
export type LayoutPrefixes = Readonly<Record<DialectName, string>>;

export const defaultPrefixes: LayoutPrefixes = {
  gozero: '',
  json: '/services/',
  kratos: '/microservices/',
  endpoint: '',
};

/** Which layouts are read, and where they are. */
export interface LayoutOptions {
  /** Prefixes that differ from the usual ones. */
  readonly prefixes?: Partial<LayoutPrefixes>;
  /** Read only this layout, and read every value as this layout. */
  readonly dialect?: DialectName;
}

export function layoutPrefixes(options: LayoutOptions = {}): LayoutPrefixes {
  return { ...defaultPrefixes, ...options.prefixes };
}

/** The distinct places (`…/`) where a service may live. */
export function servicePrefixes(service: string, options: LayoutOptions = {}): readonly string[] {
  const prefixes = layoutPrefixes(options);
  const names = options.dialect === undefined ? dialectNames : [options.dialect];
  return [...new Set(names.map((name) => `${prefixes[name]}${service}/`))];
}

export function instanceKey(dialect: DialectName, service: string, id: string, options: LayoutOptions = {}): string {
  return `${layoutPrefixes(options)[dialect]}${service}/${id}`;
}

export function encodeValue(
  dialect: DialectName,
  registration: Parameters<(typeof codecs)['json']['encode']>[0],
): string {
  return codecs[dialect].encode(registration);
}

/** A key and value read as an instance; `decoded` is null when the value is none (shown as UNPARSED). */
export interface Reading {
  readonly dialect: DialectName | 'unknown';
  readonly decoded: Decoded | null;
}

const unparsed: Reading = { dialect: 'unknown', decoded: null };

/**
 * Reads a value found under `servicePrefix` for `service`. Null: the key belongs to another service or layout
 * (for example go-zero's service `/services/user`, met while looking for json's `user`).
 */
export function readValue(
  value: Uint8Array,
  service: string,
  servicePrefix: string,
  options: LayoutOptions = {},
): Reading | null {
  const found = detect(value, options.dialect);
  if (!found) return unparsed;
  // A prefix of nobody's own (`service/`) may hold any layout; json's and kratos' hold only theirs.
  const literal = servicePrefix === `${service}/`;
  if (!literal && `${layoutPrefixes(options)[found.dialect]}${service}/` !== servicePrefix) return null;
  // kratos clients drop an instance whose name is not the service they asked for.
  if (found.dialect === 'kratos' && !(found.decoded.name === service || service.endsWith(`/${found.decoded.name}`))) {
    return unparsed;
  }
  return { dialect: found.dialect, decoded: found.decoded };
}

/** The service and id that a key names, given the layout its value is written in. Null for a key without a parent. */
export function splitKey(
  key: string,
  dialect: DialectName | 'unknown',
  options: LayoutOptions = {},
): { service: string; id: string } | null {
  const slash = key.lastIndexOf('/');
  if (slash <= 0) return null;
  const directory = key.slice(0, slash);
  const prefix = dialect === 'unknown' ? '' : layoutPrefixes(options)[dialect];
  const service = directory.startsWith(prefix) ? directory.slice(prefix.length) : directory;
  return service === '' ? null : { service, id: key.slice(slash + 1) };
}

/** What is wrong with a service name; null when nothing is. Keys of other programs make services of any name. */
export function serviceNameFault(service: string): string | null {
  if (service === '') return 'it is empty';
  if (/[\s\p{Cc}]/u.test(service)) return 'it contains blanks or control characters';
  if (service.endsWith('/')) return 'it ends with a slash (the prefix is built by lbctl)';
  if (service.split('/').includes('..')) return 'it contains a ".." segment, which etcd takes literally';
  return null;
}

/** @throws USAGE, saying what is wrong with the name. */
export function checkServiceName(service: string): void {
  const why = serviceNameFault(service);
  if (why === null) return;
  throw new LbctlError('USAGE', `${JSON.stringify(service)} cannot be a service name: ${why}`, {
    suggestions: ['lbctl list shows the services that exist.', 'A name looks like user.rpc or /services/user.'],
  });
}
