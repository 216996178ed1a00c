import { unknownFigures } from '../../src/core/dashboard/feed.js';
import type { Row } from '../../src/core/dashboard/frame.js';

/** A row of which nothing is known but that it is up, and what `of` says. */
export function dashboardRow(address: string, of: Partial<Row> = {}): Row {
  const registered = { id: address, address, name: '', weight: 1, zone: '', lease: null, pause: null };
  return { ...unknownFigures, ...registered, state: 'up', share: null, ...of };
}
