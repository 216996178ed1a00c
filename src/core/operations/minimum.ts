import { LbctlError } from '../model/errors.js';

/** How many instances of a service must stay up: a number, or a share of all that it has, rounded up. */
export type Minimum = { readonly count: number } | { readonly percent: number };

/**
 * Reads `2` or `50%`.
 * @throws USAGE, naming the flag.
 */
export function parseMinimum(text: string, flag: string): Minimum {
  const [, digits, percent] = /^(\d{1,6})(%?)$/.exec(text) ?? [];
  const number = Number(digits);
  if (digits !== undefined && percent === '') return { count: number };
  if (digits !== undefined && number <= 100) return { percent: number };
  throw new LbctlError('USAGE', `${flag} "${text}" is neither a whole number nor a percentage up to 100%`, {
    suggestions: [`Write it like ${flag} 2 or ${flag} 50%.`],
  });
}

/** `total`: all instances of the service, up and paused. */
export function neededOf(minimum: Minimum, total: number): number {
  return 'count' in minimum ? minimum.count : Math.ceil((minimum.percent * total) / 100);
}

/** `2`, or `50% of 5, which is 3`. */
export function minimumText(minimum: Minimum, total: number): string {
  return 'count' in minimum
    ? String(minimum.count)
    : `${minimum.percent}% of ${total}, which is ${neededOf(minimum, total)}`;
}
