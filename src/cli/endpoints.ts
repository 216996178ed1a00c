import { LbctlError } from '../core/model/errors.js';

/** `host:port` or `http(s)://host:port`; IPv6 in brackets. */
const shape = /^(https?:\/\/)?(\[[0-9a-f:.%]+\]|[^\s:/[\]@?#]+):(\d{1,5})\/?$/i;

/**
 * The endpoints of a comma separated list, without empty parts.
 * @throws USAGE that says what is wrong with the first bad one.
 */
export function parseEndpoints(text: string): string[] {
  const endpoints = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseEndpoint);
  if (endpoints.length === 0) throw usage(text, 'is no endpoint', 'Write it like --endpoints 127.0.0.1:2379.');
  if (new Set(endpoints.map((endpoint) => endpoint.match(/^https?/)?.[0] ?? '')).size > 1) {
    throw usage(text, 'mixes endpoints with and without TLS', 'Write all of them with the same scheme.');
  }
  return endpoints;
}

function parseEndpoint(text: string): string {
  const match = shape.exec(text);
  if (match) {
    const port = Number(match[3]);
    if (port >= 1 && port <= 65535) return `${(match[1] ?? '').toLowerCase()}${match[2]}:${port}`;
    throw usage(text, `has port ${port}`, 'A port is between 1 and 65535.');
  }
  const [scheme, rest] = /^[a-z]+:\/\//i.test(text)
    ? [text.slice(0, text.indexOf('/') + 2), text.replace(/^[a-z]+:\/\//i, '')]
    : ['', text];
  if (scheme !== '' && !/^https?:\/\/$/i.test(scheme)) {
    throw usage(text, 'has a scheme that is neither http nor https', 'Write it like https://10.0.0.1:2379.');
  }
  if (rest.includes('@'))
    throw usage(text.replace(/^.*@/, '…@'), 'holds an account', 'Use --user and --password-file.');
  if (!rest.startsWith('[') && rest.split(':').length > 2) {
    throw usage(text, 'is an IPv6 address without brackets', 'Write it like [fd00::7]:2379.');
  }
  if (/^(\[[^\]]*\]|[^\s:/]+)\/?$/.test(rest)) {
    throw usage(text, 'has no port', `Did you mean ${scheme}${rest.replace(/\/$/, '')}:2379?`);
  }
  throw usage(text, 'is not host:port', 'Write it like --endpoints 127.0.0.1:2379.');
}

function usage(text: string, problem: string, suggestion: string): LbctlError {
  return new LbctlError('USAGE', `Endpoint "${text}" ${problem}`, { suggestions: [suggestion] });
}
