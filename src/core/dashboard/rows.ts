import { compareText } from '../model/compare.js';
import { sum } from '../model/sum.js';
import { shareOf } from './balance.js';
import { type AddressFigures, unknownFigures } from './feed.js';
import type { Row } from './frame.js';
import type { RegistryRow } from './registry.js';

/**
 * Field by field, which looks clumsy: two objects spread into one cost 40 µs, and five hundred rows ten times a second a fifth
 * of a core.
 */
function rowOf(registered: RegistryRow, figures: AddressFigures, allPerSecond: number | null): Row {
  const { callsPerSecond } = figures;
  return {
    id: registered.id,
    address: registered.address,
    name: registered.name,
    state: registered.state,
    health: figures.health,
    weight: registered.weight,
    zone: registered.zone,
    load: figures.load,
    inFlight: figures.inFlight,
    callsPerSecond,
    share: shareOf(callsPerSecond, allPerSecond),
    errorRate: figures.errorRate,
    ewmaMs: figures.ewmaMs,
    isEwmaBound: figures.isEwmaBound,
    p99Ms: figures.p99Ms,
    lease: registered.lease,
    codes: figures.codes,
    pause: registered.pause,
  };
}

/**
 * Calls that go to what is not registered, or have not ended there, are shown as well: that is what one looks for, and waits
 * for while one drains.
 */
export function joined(
  registered: readonly RegistryRow[] | null,
  figures: ReadonlyMap<string, AddressFigures>,
  unlisted: AddressFigures,
): Row[] {
  const known = new Set(registered?.map(({ address }) => address));
  const entries: (readonly [RegistryRow, AddressFigures])[] = (registered ?? []).map((row) => {
    return [row, figures.get(row.address) ?? (row.state === 'up' ? unknownFigures : unlisted)];
  });
  const isSorted = entries.length;
  for (const [address, found] of figures) {
    if (known.has(address) || (registered && found.callsPerSecond === 0 && !found.inFlight)) continue;
    entries.push([unregistered(address, registered ? 'gone' : null), found]);
  }
  if (entries.length > isSorted)
    entries.sort(([a], [b]) => compareText(a.address, b.address) || compareText(a.id, b.id));
  const all = isTotalKnown(entries, figures) ? sum(entries, ([, { callsPerSecond }]) => callsPerSecond ?? 0) : null;
  return entries.map(([row, found]) => rowOf(row, found, all));
}

/** It is not where calls went to one that has figures, and nobody knows how many. Who has none is not called. */
function isTotalKnown(
  entries: readonly (readonly [RegistryRow, AddressFigures])[],
  figures: ReadonlyMap<string, AddressFigures>,
): boolean {
  return !entries.some(([{ address, state }, { callsPerSecond, health }]) => {
    const isOut = state === 'paused' || health === 'unhealthy' || health === 'ejected';
    return callsPerSecond === null && !isOut && figures.has(address);
  });
}

/** Rows of figures alone, by address. */
export function rowsOf(figures: ReadonlyMap<string, AddressFigures>): Row[] {
  return joined(null, figures, unknownFigures);
}

function unregistered(address: string, state: 'gone' | null): RegistryRow {
  return { id: address, address, name: '', state, weight: null, zone: '', lease: null, pause: null };
}
