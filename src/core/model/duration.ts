import { LbctlError } from './errors.js';

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Milliseconds of a Go-style duration: `300ms`, `5s`, `1m30s`, `1.5h`, `2d`, or `0`.
 * @throws USAGE for anything else, negative values included.
 */
export function parseDuration(text: string): number {
  if (text === '0') return 0;
  let total = 0;
  let rest = text;
  while (rest !== '') {
    const part = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)/.exec(rest);
    const unit = units[part?.[2] ?? ''];
    if (!part || unit === undefined) {
      throw new LbctlError('USAGE', `"${text}" is not a duration`, {
        suggestions: ['Write it like 300ms, 5s, 1m30s or 2h.'],
      });
    }
    total += Number(part[1]) * unit;
    rest = rest.slice(part[0].length);
  }
  if (text === '')
    throw new LbctlError('USAGE', 'A duration is missing', { suggestions: ['Write it like 300ms, 5s or 1m30s.'] });
  return total;
}

/** Node's timers count milliseconds in 31 bits; a longer one would fire at once. */
export const longestTimerMs = 2 ** 31 - 1;

/**
 * Milliseconds that a timer can run, as `parseDuration` reads them.
 * @throws USAGE that names `flag`.
 */
export function parseTimeout(text: string, flag: string): number {
  let ms = Number.NaN;
  try {
    ms = parseDuration(text);
  } catch {}
  if (ms <= longestTimerMs) return ms;
  const why = Number.isNaN(ms) ? 'is not a duration' : 'is too long: at most 24 days';
  throw new LbctlError('USAGE', `${flag} "${text}" ${why}`, {
    suggestions: [`Write it like ${flag} 300ms, 5s, 1m30s or 2h.`],
  });
}

/** The shortest reading of a duration for people: `0s`, `850ms`, `42s`, `5m`, `5m3s`, `2h`, `2h5m`, `3d4h`. */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < 1000) return ms < 1 ? '0s' : `${Math.round(ms)}ms`;
  const seconds = Math.floor(ms / 1000);
  const [days, hours, minutes, rest] = [
    Math.floor(seconds / 86_400),
    Math.floor((seconds % 86_400) / 3600),
    Math.floor((seconds % 3600) / 60),
    seconds % 60,
  ];
  if (days > 0) return hours > 0 ? `${days}d${hours}h` : `${days}d`;
  if (hours > 0) return minutes > 0 ? `${hours}h${minutes}m` : `${hours}h`;
  if (minutes > 0) return rest > 0 ? `${minutes}m${rest}s` : `${minutes}m`;
  return `${seconds}s`;
}
