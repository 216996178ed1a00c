import { createHash } from 'node:crypto';
import { LbctlError } from '../model/errors.js';
import type { EtcdSettings } from './port.js';

export interface Endpoint {
  /** `host:port`, an IPv6 host in brackets: what messages show and grpc dials. */
  readonly address: string;
  readonly secure: boolean;
}

/**
 * Reads `host:port`, `http://host:port` or `https://host:port`. Without a scheme the connection is secure when TLS
 * settings were given, as in etcdctl.
 * @throws USAGE when the host or the port is missing or wrong.
 */
export function parseEndpoint(text: string, hasTls: boolean): Endpoint {
  const parts = /^(?:(https?):\/\/)?(\[[0-9a-f:.%]+\]|[^\s:/@[\]]+):(\d{1,5})\/?$/i.exec(text.trim());
  const [, scheme, host, port] = parts ?? [];
  if (host === undefined || port === undefined || Number(port) < 1 || Number(port) > 65_535) {
    throw new LbctlError('USAGE', `"${text}" is not an etcd endpoint: ${reason(text)}`, {
      suggestions: ['Write host:port, http://host:port or https://host:port, such as 127.0.0.1:2379.'],
    });
  }
  return {
    address: `${host.toLowerCase()}:${Number(port)}`,
    secure: scheme === undefined ? hasTls : scheme.toLowerCase() === 'https',
  };
}

function reason(text: string): string {
  const rest = text.trim().replace(/^https?:\/\//i, '');
  if (/^[a-z]+:\/\//i.test(rest)) return 'the scheme is neither http nor https';
  if (/^[^:[\]/]+\/?$/.test(rest) || /^\[[^\]]*\]\/?$/.test(rest)) return 'the port is missing';
  if (/^[0-9a-f:]+$/i.test(rest) && rest.split(':').length > 2) return 'an IPv6 address needs brackets and a port';
  return 'host or port cannot be read';
}

/** The endpoints of the settings, sorted, each once. @throws USAGE when there is none, or one is wrong. */
export function parseEndpoints(settings: EtcdSettings): Endpoint[] {
  const given = settings.endpoints.map((text) => text.trim()).filter((text) => text !== '');
  if (given.length === 0) {
    throw new LbctlError('USAGE', 'No etcd endpoint was given', { suggestions: ['Use --endpoints 127.0.0.1:2379.'] });
  }
  const byUrl = new Map(given.map((text) => parseEndpoint(text, settings.tls !== undefined)).map((e) => [urlOf(e), e]));
  return [...byUrl.keys()].sort().flatMap((url) => byUrl.get(url) ?? []);
}

export function urlOf(endpoint: Endpoint): string {
  return `${endpoint.secure ? 'https' : 'http'}://${endpoint.address}`;
}

/** Equal for settings that can share one connection. Holds no secret in clear: it may end up in a heap dump or log. */
export function connectionKey(settings: EtcdSettings): string {
  const { tls, auth, dialTimeoutMs, commandTimeoutMs } = settings;
  const secrets = createHash('sha256');
  for (const part of [tls?.ca, tls?.cert, tls?.key, auth?.user, auth?.password]) {
    secrets.update(`${part === undefined ? -1 : Buffer.byteLength(part)}:`).update(part ?? '');
  }
  const rest = JSON.stringify([tls?.skipVerify === true, tls !== undefined, dialTimeoutMs, commandTimeoutMs]);
  return `${parseEndpoints(settings).map(urlOf).join(',')} ${rest} ${secrets.digest('hex')}`;
}
