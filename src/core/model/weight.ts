import { LbctlError } from './errors.js';

/** Larger than any ring or scheduler can make use of, and small enough that sums stay exact. */
export const maxWeight = 100_000;

/**
 * A weight as a person wrote it: a whole number from 1 to 100000. Weights that were read from etcd are judged by their
 * layout instead.
 * @throws USAGE for anything else; `of` says whose weight it is.
 */
export function parseWeight(text: string, of: string): number {
  const weight = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (weight >= 1 && weight <= maxWeight) return weight;
  const paused = weight === 0 ? ' To take an instance out of rotation, pause it.' : '';
  throw new LbctlError('USAGE', `The weight "${text}" of ${of} is not a whole number from 1 to ${maxWeight}`, {
    suggestions: [`Write a weight like 1, 5 or 100.${paused}`],
  });
}
