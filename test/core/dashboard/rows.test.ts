import { expect, test } from 'vitest';
import { type AddressFigures, idleFigures, unknownFigures } from '../../../src/core/dashboard/feed.js';
import type { RegistryRow } from '../../../src/core/dashboard/registry.js';
import { joined, rowsOf } from '../../../src/core/dashboard/rows.js';

const figures = (of: Partial<AddressFigures>): AddressFigures => ({ ...unknownFigures, ...of });
const registered = (address: string, state: RegistryRow['state'] = 'up'): RegistryRow => {
  return { id: address, address, name: '', state, weight: 1, zone: '', lease: null, pause: null };
};
const called = figures({ callsPerSecond: 3 });

test('a share is of all calls: while the rate of one that is called is unknown, nobody has one', () => {
  const shares = (...all: [string, AddressFigures][]) => rowsOf(new Map(all)).map(({ share }) => share);
  expect(shares(['a', called], ['b', figures({ callsPerSecond: 1 })])).toEqual([0.75, 0.25]);
  expect(shares(['a', called], ['b', figures({ load: 2236 })])).toEqual([null, null]);
  expect(shares(['a', called], ['b', figures({})])).toEqual([null, null]);
  // No client reaches it, or all keep away from it: calls do not go there.
  expect(shares(['a', called], ['b', figures({ health: 'unhealthy' })])).toEqual([1, null]);
  expect(shares(['a', called], ['b', figures({ health: 'ejected' })])).toEqual([1, null]);
});

test('an instance that no figures name is not called', () => {
  const rows = joined(
    [registered('a'), registered('b'), registered('c', 'paused')],
    new Map([['a', called]]),
    idleFigures,
  );
  expect(rows.map(({ share }) => share)).toEqual([1, null, 0]);
});
