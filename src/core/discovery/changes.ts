import type { Instance } from '../model/instance.js';
import type { Change } from './follow.js';
import type { ServiceRange } from './service-ranges.js';
import type { Prepared, ServiceState } from './service-state.js';

/** What happened to one instance between two revisions. */
export interface InstanceChange {
  readonly type: 'ADDED' | 'REMOVED' | 'CHANGED' | 'PAUSED' | 'RESUMED';
  readonly revision: bigint;
  /** As it is now; for REMOVED as it was. */
  readonly instance: Instance;
  /** As it was before, perhaps under another key; null for ADDED, and PAUSED when it never was in rotation here. */
  readonly previous: Instance | null;
}

/**
 * Applies changes to the state and tells what they mean. Each revision is told apart (a key that was deleted and put back
 * is two events), unless `asOne`: after a reload only the difference is known. Removals come before additions.
 */
export function applyChanges(
  state: ServiceState,
  ranges: readonly ServiceRange[],
  changes: readonly Change[],
  asOne: bigint | null,
): readonly InstanceChange[] {
  const all: InstanceChange[] = [];
  for (let from = 0; from < changes.length; ) {
    const revision = changes[from]?.revision ?? 0n;
    let to = from + 1;
    while (to < changes.length && (asOne !== null || changes[to]?.revision === revision)) to++;
    all.push(...applyGroup(state, ranges, changes.slice(from, to), asOne ?? revision));
    from = to;
  }
  return all;
}

interface Facts {
  readonly present: Map<string, Instance | null>;
  /** By `identity`. */
  readonly parked: Map<string, Instance>;
}

function applyGroup(
  state: ServiceState,
  ranges: readonly ServiceRange[],
  changes: readonly Change[],
  revision: bigint,
): readonly InstanceChange[] {
  const prepared: Prepared[] = [];
  const keys = new Set<string>();
  const addresses = new Set<string>();
  for (const change of changes) {
    const range = ranges[change.rangeIndex];
    if (!range) continue;
    const one = state.prepare(range.kind, range.prefix, change.key, change.kv);
    const footprint = state.footprint(one);
    for (const key of footprint.keys) keys.add(key);
    for (const address of footprint.addresses) addresses.add(address);
    prepared.push(one);
  }
  const before = facts(state, keys, addresses);
  for (const one of prepared) state.apply(one);
  return compare(before, facts(state, keys, addresses), keys, revision);
}

function facts(state: ServiceState, keys: ReadonlySet<string>, addresses: ReadonlySet<string>): Facts {
  const present = new Map([...keys].map((key) => [key, state.instance(key)]));
  const parked = new Map([...addresses].flatMap((address) => state.parked(address)).map((one) => [identity(one), one]));
  return { present, parked };
}

function compare(before: Facts, after: Facts, keys: ReadonlySet<string>, revision: bigint): readonly InstanceChange[] {
  const out: InstanceChange[] = [];
  const back: InstanceChange[] = [];
  const newlyParked = new Map([...after.parked].filter(([key]) => !before.parked.has(key)));
  const unparked = new Map([...before.parked].filter(([key]) => !after.parked.has(key)));
  for (const key of keys) {
    const was = before.present.get(key) ?? null;
    const is = after.present.get(key) ?? null;
    if (was && is) {
      const change = { revision, instance: is, previous: was };
      if (was.admin === 'up' && is.admin === 'paused') out.push({ type: 'PAUSED', ...change });
      else if (was.admin === 'paused' && is.admin === 'up') back.push({ type: 'RESUMED', ...change });
      else if (differs(was, is)) back.push({ type: 'CHANGED', ...change });
    } else if (was) {
      const parked = take(newlyParked, was);
      const type = was.admin === 'up' ? 'PAUSED' : 'CHANGED';
      if (parked) out.push({ type, revision, instance: parked, previous: was });
      else out.push({ type: 'REMOVED', revision, instance: was, previous: was });
    } else if (is) {
      const parked = take(unparked, is);
      const type = is.admin === 'up' ? 'RESUMED' : 'CHANGED';
      if (parked) back.push({ type, revision, instance: is, previous: parked });
      else back.push({ type: 'ADDED', revision, instance: is, previous: null });
    }
  }
  // What is left never had a key here: it started paused, or ended while it was paused. A record that took the place of
  // another for the same address is the same instance still: its owner went, or came back, while it is paused.
  for (const parked of newlyParked.values()) {
    const was = take(unparked, parked);
    if (was) back.push({ type: 'CHANGED', revision, instance: parked, previous: was });
    else out.push({ type: 'PAUSED', revision, instance: parked, previous: null });
  }
  for (const parked of unparked.values()) {
    out.push({ type: 'REMOVED', revision, instance: parked, previous: parked });
  }
  return [...out, ...back];
}

/** Its own key first: after a pause and a resume an instance may come back under a new one, at the same address. */
function take(from: Map<string, Instance>, like: Instance): Instance | null {
  const found = from.get(identity(like)) ?? [...from.values()].find((one) => one.address === like.address) ?? null;
  if (found) from.delete(identity(found));
  return found;
}

/** A pause is for an address: the key that its record remembers may be another instance's by now, or not be known. */
function identity(parked: Instance): string {
  return `${parked.address} ${parked.key}`;
}

function differs(a: Instance, b: Instance): boolean {
  return (
    a.address !== b.address ||
    a.weight !== b.weight ||
    a.zone !== b.zone ||
    a.version !== b.version ||
    a.dialect !== b.dialect ||
    a.lease?.id !== b.lease?.id ||
    (a.owner === null) !== (b.owner === null) ||
    !sameMap(a.metadata, b.metadata)
  );
}

function sameMap(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}
