import type { Selection } from './document.js';

/** What a reader wants. */
export type StatisticsRequest =
  | ({ readonly kind: 'document' } & Selection)
  | ({ readonly kind: 'stream'; readonly intervalMs: number } & Selection)
  | { readonly kind: 'metrics' }
  | { readonly kind: 'unknown' };

/** What may be done with each of the paths. */
export const methods = ['GET', 'HEAD'];

/** What is said to who asks for anything else. */
export const knownPaths = [
  'GET /statistics               what is known now, JSON; ?service=NAME, ?trace=ADDRESS',
  'GET /statistics/stream        the same again and again, one JSON document a line; ?intervalMs=1000',
  'GET /metrics                  Prometheus',
  '',
].join('\n');

const defaultIntervalMs = 1000;
export const leastIntervalMs = 100;
const longestIntervalMs = 10_000;

/** Reads the target of a request line: the path with its parameters. Unknown is what cannot be read. */
export function readRequest(target: string): StatisticsRequest {
  const base = 'http://localhost';
  if (!URL.canParse(target, base)) return { kind: 'unknown' };
  const { pathname, searchParams } = new URL(target, base);
  const selection = { service: searchParams.get('service'), traceOf: searchParams.get('trace') };
  switch (pathname) {
    case '/statistics':
      return { kind: 'document', ...selection };
    case '/statistics/stream':
      return { kind: 'stream', intervalMs: intervalOf(searchParams.get('intervalMs')), ...selection };
    case '/metrics':
      return { kind: 'metrics' };
    default:
      return { kind: 'unknown' };
  }
}

/** The nearest that is served. */
function intervalOf(text: string | null): number {
  if (text === null || !/^\d{1,9}$/.test(text)) return defaultIntervalMs;
  return Math.min(longestIntervalMs, Math.max(leastIntervalMs, Number(text)));
}
