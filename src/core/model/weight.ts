import { LbctlError } from './errors.js';

const maxWeight = 10_000;

/**
 * A weight as a person wrote it: a whole number from 1 to 10000. Weights that were read from etcd are judged by their
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
