import { expect, test } from 'vitest';
import { idleFigures, unknownFigures } from '../../../src/core/dashboard/feed.js';
import type { RegistryRow } from '../../../src/core/dashboard/registry.js';
import { joined } from '../../../src/core/dashboard/rows.js';

const registered: RegistryRow = {
  ...{ id: '10.0.0.5:80', address: '10.0.0.5:80', name: '5', state: 'up' },
  ...{ weight: 1, zone: '', lease: null, pause: null },
};

test('what has left the registry stays while calls go there or have not ended there', () => {
  const figures = new Map([
    ['10.0.0.1:80', { ...idleFigures, inFlight: 2 }],
    ['10.0.0.2:80', { ...idleFigures, callsPerSecond: 0.5 }],
    ['10.0.0.3:80', idleFigures],
    ['10.0.0.5:80', { ...idleFigures, callsPerSecond: 1.5 }],
  ]);
  const rows = joined([registered], figures, unknownFigures);
  expect(rows.map(({ id, state, inFlight, share }) => [id, state, inFlight, share])).toEqual([
    ['10.0.0.1:80', 'gone', 2, 0],
    ['10.0.0.2:80', 'gone', 0, 0.25],
    ['10.0.0.5:80', 'up', 0, 0.75],
  ]);
});
