import { LbctlError } from '../model/errors.js';

export interface HostPort {
  /** Without brackets; may be empty. */
  readonly host: string;
  /** Null when there is none. */
  readonly port: number | null;
  /** An IPv6 host was written without brackets, so where the port begins is a guess. */
  readonly unbracketed: boolean;
}

/** Splits `host:port`, `[v6]:port`, and the two malformed IPv6 shapes that go-zero registers. */
export function splitHostPort(address: string): HostPort {
  const bracketed = address.startsWith('[') ? /^\[([^\]]*)\](?::(\d+))?$/.exec(address) : null;
  if (bracketed) return { host: bracketed[1] ?? '', port: portNumber(bracketed[2]), unbracketed: false };
  const at = address.lastIndexOf(':');
  if (at < 0) return { host: address, port: null, unbracketed: false };
  const unbracketed = address.indexOf(':') < at;
  return { host: address.slice(0, at), port: portNumber(address.slice(at + 1)), unbracketed };
}

function portNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : null;
}

export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

const anyHost = new Set(['', '0.0.0.0', '::', '0:0:0:0:0:0:0:0']);

export function isAnyHost(host: string): boolean {
  return anyHost.has(host);
}

/** Only reached from the machine itself. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Why no client on another machine can dial this address, or null. */
export function undialable(address: string): string | null {
  const { host, port, unbracketed } = splitHostPort(address);
  if (unbracketed) return 'an IPv6 host without brackets';
  if (port === null) return 'no port';
  if (port < 1 || port > 65_535) return `port ${port} does not exist`;
  if (isAnyHost(host)) return 'it names every interface, not a host';
  if (isLoopback(host)) return 'a loopback address';
  return null;
}

/** Why this is not a host and a port from 1 to 65535 without blanks, or null. */
export function addressFault(address: string): string | null {
  const { host, port, unbracketed } = splitHostPort(address);
  return /[\s\p{C}/]/u.test(address)
    ? 'it contains blanks, control characters or a slash'
    : unbracketed
      ? 'an IPv6 host needs brackets'
      : port === null
        ? 'the port is missing'
        : port < 1 || port > 65_535
          ? `port ${port} is outside 1 to 65535`
          : host === ''
            ? 'the host is missing'
            : null;
}

/** @throws USAGE with the remedy for what cannot be registered as an address. */
export function checkAddress(address: string): void {
  const why = addressFault(address);
  if (why === null) return;
  throw new LbctlError('USAGE', `"${address}" cannot be an instance's address: ${why}`, {
    suggestions: ['Write host:port, for example 10.0.0.7:8080 or [fd00::7]:8080.'],
  });
}
