import { LbctlError } from '../model/errors.js';

/** What a health check asks. `address` is `host:port`, an IPv6 host in brackets. */
export type HealthTarget =
  | { readonly kind: 'tcp'; readonly address: string }
  /** `service` empty asks for the server as a whole. */
  | { readonly kind: 'grpc'; readonly address: string; readonly service: string }
  | { readonly kind: 'http'; readonly url: string };

/**
 * Reads `tcp`, `tcp://host:port`, `grpc`, `grpc://host:port[/service]`, `http://…` or `https://…`; the bare words mean
 * `ownAddress`, the address that clients will dial.
 * @throws USAGE
 */
export function parseHealthTarget(text: string, ownAddress: string): HealthTarget {
  const url = parseUrl(text === 'tcp' || text === 'grpc' ? `${text}://${ownAddress}` : text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return { kind: 'http', url: url.href };
  if (!url?.hostname || url.username !== '' || url.search !== '' || url.hash !== '') throw unreadable(text);
  const port = Number(url.port);
  if (url.port === '' || port === 0) {
    throw unreadable(text, `"${text}" names no port between 1 and 65535`);
  }
  const address = `${url.hostname}:${port}`;
  const path = unescapePath(url.pathname);
  if (path === undefined) throw unreadable(text);
  if (url.protocol === 'grpc:') return { kind: 'grpc', address, service: path };
  if (url.protocol === 'tcp:' && path === '') return { kind: 'tcp', address };
  throw unreadable(text);
}

/** The target as a person writes it. */
export function describeTarget(target: HealthTarget): string {
  if (target.kind === 'http') return target.url;
  const path = target.kind === 'grpc' && target.service !== '' ? `/${target.service}` : '';
  return `${target.kind}://${target.address}${path}`;
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

function unescapePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path.replace(/^\//, ''));
  } catch {
    return undefined;
  }
}

function unreadable(text: string, message = `"${text}" is not a health check`): LbctlError {
  return new LbctlError('USAGE', message, {
    suggestions: [
      'Use --health tcp or --health grpc to check the address of the instance itself.',
      'Or name the place: tcp://host:port, grpc://host:port/service, http://host:port/path.',
    ],
  });
}
