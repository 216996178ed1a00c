import type { Balancer, Candidate, KeyPlacement } from '../balancer/balancer.js';
import { createBalancer, isKeyed, type PolicyName, policyNamed } from '../balancer/policies.js';
import type { RingFlavour } from '../hashing/ring.js';
import type { Rng } from '../model/clock.js';
import { LbctlError } from '../model/errors.js';
import { changeNodes } from './pick-nodes.js';

/** Nodes that are picked from together: those of a service, or a list without one. */
export interface PickGroup {
  readonly service: string | null;
  readonly nodes: readonly Candidate[];
}

export interface PickRequest {
  /** A policy's name or alias. */
  readonly policy: string;
  /** Only for consistent_hash, where absent means `gozero`. */
  readonly ring?: RingFlavour;
  /** On a ring weights count as percents of the virtual nodes (go-zero's clients ignore them). */
  readonly weightedRing: boolean;
  readonly groups: readonly PickGroup[];
  /** Nodes that join and addresses that leave before the picks; the picks are compared with those of the set as it is. */
  readonly joining: readonly Candidate[];
  readonly leaving: readonly string[];
  readonly rng: Rng;
}

/** One pick of the JSON contract. What a policy does not have is null. Hashes and points are hex. */
export interface Pick {
  readonly key: string | null;
  readonly address: string;
  readonly service: string | null;
  readonly hash: string | null;
  readonly point: string | null;
  readonly virtualNode: number | null;
  /** The next owners in order, at most five. */
  readonly next: readonly string[];
  /** The owner in the set as it is, when the change moves the key. */
  readonly movedFrom: string | null;
}

export interface PickHead {
  readonly policy: PolicyName;
  readonly ring: RingFlavour | null;
  readonly nodes: ReadonlyArray<{ address: string; weight: number; service: string | null }>;
}

export interface PickTotals {
  /** A row a node, also for those without a pick; the share is of its service's picks, 0 to 1. */
  readonly distribution: ReadonlyArray<{ address: string; picks: number; share: number; service: string | null }>;
  /** How many keys the change moved; null when nothing changed or the policy has no keys. */
  readonly moved: number | null;
  readonly moves: ReadonlyArray<{ from: string; to: string; keys: number }>;
}

/** go-zero's clients keep a random 32 of the addresses, each its own. */
const gozeroSubset = 32;
const nextLimit = 5;
/** Policies with keys that count every instance alike, beside an unweighted ring. */
const weightless: ReadonlySet<PolicyName> = new Set(['hash', 'maglev', 'bounded_load']);

interface Group {
  readonly service: string | null;
  readonly nodes: readonly Candidate[];
  readonly now: Balancer;
  /** Over the set before the change; null without one. */
  readonly before: Balancer | null;
  readonly picks: Map<string, number>;
}

/** Picks for one key after the other and adds up, in memory that does not grow with the keys. */
export class Picker {
  readonly head: PickHead;
  /** True when the policy decides by key, so that each pick needs one. */
  readonly keyed: boolean;
  /** For people. */
  readonly warnings: readonly string[];
  readonly #groups: readonly Group[];
  readonly #moves = new Map<string, { from: string; to: string; keys: number }>();

  /** @throws USAGE for a request that contradicts itself, NO_INSTANCE for a group without nodes, and as changeNodes. */
  constructor(request: PickRequest) {
    const { policy, ring, keyed } = chosenPolicy(request.policy, request.ring);
    this.keyed = keyed;
    this.#groups = request.groups.map((group) => createGroup(group, request));
    this.head = {
      policy,
      ring,
      nodes: this.#groups.flatMap(({ service, nodes }) =>
        nodes.map(({ address, weight }) => ({ address, weight: weight ?? 1, service })),
      ),
    };
    this.warnings = this.#groups.flatMap((group) => [
      ...ringWarnings(group, ring, request.weightedRing),
      ...(weightless.has(policy) && hasWeights(group) ? [`${nameOf(group)} has weights: ${policy} ignores them.`] : []),
    ]);
  }

  /** `times` picks in each group. The key may be null only for a policy that is not keyed. */
  pick(key: string | null, times = 1): Pick[] {
    return this.#groups.flatMap((group) => {
      const placement = key === null ? undefined : group.now.place?.(key, nextLimit);
      const movedFrom = placement && key !== null ? this.#move(group, key, placement.address) : null;
      return Array.from({ length: times }, () => this.#record(group, key, placement, movedFrom));
    });
  }

  /** As `pick`, only added up; gives the number of picks. */
  tally(key: string | null, times = 1): number {
    for (const group of this.#groups) {
      for (let i = 0; i < times; i++) {
        const address = pickedAddress(group.now, key);
        count(group, address);
        if (i === 0 && key !== null && group.now.place) this.#move(group, key, address);
      }
    }
    return times * this.#groups.length;
  }

  totals(): PickTotals {
    const moves = [...this.#moves.values()].sort((a, b) => b.keys - a.keys);
    const compared = this.keyed && this.#groups.some((group) => group.before !== null);
    return {
      distribution: this.#groups.flatMap(({ service, nodes, picks }) => {
        const total = [...picks.values()].reduce((sum, n) => sum + n, 0);
        return nodes.map(({ address }) => {
          const own = picks.get(address) ?? 0;
          return { address, picks: own, share: total === 0 ? 0 : own / total, service };
        });
      }),
      moved: compared ? moves.reduce((sum, move) => sum + move.keys, 0) : null,
      moves,
    };
  }

  #record(group: Group, key: string | null, placement: KeyPlacement | undefined, movedFrom: string | null): Pick {
    const { service } = group;
    const address = placement?.address ?? pickedAddress(group.now, key);
    count(group, address);
    const { hash, point, virtualNode, next } = placement ?? { hash: null, point: null, virtualNode: null, next: [] };
    return { key, address, service, hash, point, virtualNode, next, movedFrom };
  }

  /** Where the key was before the change, when that is elsewhere. */
  #move(group: Group, key: string, to: string): string | null {
    const from = group.before ? pickedAddress(group.before, key) : to;
    if (from === to) return null;
    const id = JSON.stringify([from, to]);
    const move = this.#moves.get(id) ?? { from, to, keys: 0 };
    move.keys++;
    this.#moves.set(id, move);
    return from;
  }
}

/**
 * What a policy's name and a ring mean together; `keyed` policies decide by key.
 * @throws USAGE for an unknown policy, and for a ring that the policy has not.
 */
export function chosenPolicy(
  name: string,
  ring: RingFlavour | undefined,
): { policy: PolicyName; ring: RingFlavour | null; keyed: boolean } {
  const policy = policyNamed(name);
  if (ring && policy !== 'consistent_hash') {
    throw new LbctlError('USAGE', `${policy} has no ring to choose`, {
      suggestions: ['Use --policy consistent_hash, or leave --ring out.'],
    });
  }
  return { policy, ring: policy === 'consistent_hash' ? (ring ?? 'gozero') : null, keyed: isKeyed(policy) };
}

function createGroup({ service, nodes }: PickGroup, request: PickRequest): Group {
  if (nodes.length === 0) {
    throw new LbctlError('NO_INSTANCE', `${service ?? 'The list'} has no instance in rotation to pick from`, {
      suggestions: service === null ? [] : [`lbctl list ${service}`],
    });
  }
  const changes = request.joining.length > 0 || request.leaving.length > 0;
  const after = changes ? changeNodes(nodes, request.joining, request.leaving) : nodes;
  const over = (set: readonly Candidate[]): Balancer => {
    const balancer = createBalancer(request.policy, request);
    balancer.update(set);
    return balancer;
  };
  return { service, nodes: after, now: over(after), before: changes ? over(nodes) : null, picks: new Map() };
}

/** Where each pick would go if it were the only call: with keys those of before must not push a key away from its home. */
function pickedAddress(balancer: Balancer, key: string | null): string {
  const call = balancer.pick(key === null ? {} : { key });
  if (balancer.place) call.abandon();
  return call.instance.address;
}

function nameOf({ service }: Group): string {
  return service ?? 'The list';
}

function hasWeights({ nodes }: Group): boolean {
  return nodes.some((node) => (node.weight ?? 1) !== 1);
}

function ringWarnings(group: Group, ring: RingFlavour | null, weightedRing: boolean): string[] {
  if (ring === null) return [];
  const { nodes } = group;
  const who = nameOf(group);
  const warnings: string[] = [];
  if (ring === 'gozero' && nodes.length > gozeroSubset) {
    warnings.push(
      `${who} has ${nodes.length} instances: go-zero clients would disagree on owners, as each of them hashes over ` +
        `a random ${gozeroSubset} of its own.`,
    );
  }
  if (!weightedRing && hasWeights(group)) {
    warnings.push(`${who} has weights: the ring ignores them, as go-zero clients do.`);
  }
  if (weightedRing && new Set(nodes.map((node) => node.weight === undefined)).size > 1) {
    warnings.push(
      `${who} mixes nodes with and without weight: on a ring a weight is a percentage, and none means 100.`,
    );
  }
  return warnings;
}

function count(group: Group, address: string): void {
  group.picks.set(address, (group.picks.get(address) ?? 0) + 1);
}
