import type { Candidate } from '../balancer/balancer.js';
import { LbctlError } from '../model/errors.js';
import { parseWeight } from '../model/weight.js';

/**
 * `a:1,b:1=5`: nodes separated by commas. A node is any string; what follows its last `=` is its weight.
 * @throws USAGE for an empty node, a bad weight, or a node that comes twice.
 */
export function parseNodes(lists: readonly string[], flag: string): Candidate[] {
  const nodes = new Map<string, Candidate>();
  for (const part of lists.flatMap((list) => list.split(','))) {
    const node = parseNode(part, flag);
    if (nodes.has(node.address)) throw usage(`${flag} names "${node.address}" twice`);
    nodes.set(node.address, node);
  }
  return [...nodes.values()];
}

function parseNode(text: string, flag: string): Candidate {
  const equals = text.lastIndexOf('=');
  const address = equals < 0 ? text : text.slice(0, equals);
  if (address === '')
    throw usage(text === '' ? `${flag} holds an empty node` : `${flag} holds "${text}", without a node`);
  return equals < 0 ? { address } : { address, weight: parseWeight(text.slice(equals + 1), `"${address}" in ${flag}`) };
}

/**
 * The set after some have left and others have joined.
 * @throws NOT_FOUND when one that is to leave is not there, USAGE when one that is to join already is or none is left.
 */
export function changeNodes(
  nodes: readonly Candidate[],
  joining: readonly Candidate[],
  leaving: readonly string[],
): Candidate[] {
  const known = new Set(nodes.map((node) => node.address));
  const missing = leaving.find((address) => !known.has(address));
  if (missing !== undefined) {
    throw new LbctlError('NOT_FOUND', `--without "${missing}": there is no such node`, {
      suggestions: [`The nodes are: ${listed([...known])}`],
    });
  }
  const present = joining.find((node) => known.has(node.address) && !leaving.includes(node.address));
  if (present) throw usage(`--with "${present.address}": it is there already`);
  const after = [...nodes.filter((node) => !leaving.includes(node.address)), ...joining];
  if (after.length === 0) throw usage('--without takes every node away: nobody is left to pick');
  return after;
}

function listed(addresses: readonly string[]): string {
  const shown = addresses.slice(0, 10).join(', ');
  return addresses.length > 10 ? `${shown} and ${addresses.length - 10} more` : shown;
}

function usage(message: string): LbctlError {
  return new LbctlError('USAGE', message, { suggestions: ['Write nodes like 10.0.0.1:8080,10.0.0.2:8080=5.'] });
}
