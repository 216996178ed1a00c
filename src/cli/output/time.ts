import { formatDuration } from '../../core/model/duration.js';

/** For people: `5m ago`, or `in 10m`; `-` when the text is no time. */
export function relativeTime(iso: string, nowMs: number): string {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return '-';
  return at > nowMs ? `in ${formatDuration(at - nowMs)}` : `${formatDuration(nowMs - at)} ago`;
}

/** How long ago, for people: `5m`; `-` when nobody knows. Clocks of two hosts differ: never below 0. */
export function age(iso: string | null, nowMs: number): string {
  const at = iso === null ? Number.NaN : Date.parse(iso);
  return Number.isNaN(at) ? '-' : formatDuration(Math.max(0, nowMs - at));
}

/** Wall-clock time of the day here, to the millisecond: `09:05:07.042`. */
export function clockTime(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, '0');
  const millis = String(at.getMilliseconds()).padStart(3, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${millis}`;
}
