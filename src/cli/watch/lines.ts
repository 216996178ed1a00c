import type { ServiceEvent, ServiceEventType } from '../../core/discovery/observe.js';
import { sanitise } from '../../core/model/sanitise.js';
import { instanceDocument } from '../instance-document.js';
import type { Style } from '../output/colour.js';
import { document, toJson } from '../output/structured.js';
import { clockTime } from '../output/time.js';
import type { Totals } from './instance-set.js';

/** One thing that `watch` tells. */
export interface WatchLine extends ServiceEvent {
  readonly service: string;
  readonly atMs: number;
  /** After this line. */
  readonly totals: Totals;
}

export function watchJson(line: WatchLine): string {
  const { type, revision, atMs, service, cause, instance } = line;
  const time = new Date(atMs).toISOString();
  const address = instance === null ? null : line.address;
  return `${toJson(
    document({ type, revision, time, service, address, cause, instance: instance && instanceDocument(instance) }),
    0,
  )}\n`;
}

const marks: Readonly<Record<ServiceEventType, { mark: string; colour: keyof Style }>> = {
  SNAPSHOT: { mark: '=', colour: 'dim' },
  ADDED: { mark: '+', colour: 'green' },
  RESUMED: { mark: '+', colour: 'green' },
  REMOVED: { mark: '-', colour: 'red' },
  PAUSED: { mark: '-', colour: 'yellow' },
  CHANGED: { mark: '~', colour: 'yellow' },
  SYNCED: { mark: 'SYNCED', colour: 'bold' },
  RESYNC: { mark: 'RESYNC', colour: 'bold' },
  STALE: { mark: 'STALE', colour: 'red' },
  LIVE: { mark: 'LIVE', colour: 'green' },
};

/** `09:05:07.042  + 10.0.0.1:8080  registered  (3 up, 1 paused)` */
export function watchText(line: WatchLine, style: Style): string {
  const { mark, colour } = marks[line.type];
  const subject = line.instance ? sanitise(line.instance.address || line.instance.key) : '';
  const words = [mark, subject].filter((word) => word !== '').join(' ');
  const totals = line.type === 'SNAPSHOT' ? '' : `(${totalsText(line.totals)})`;
  const parts = [style.dim(clockTime(line.atMs)), style[colour](words), sanitise(line.cause), style.dim(totals)];
  return `${parts.filter((part) => part !== '').join('  ')}\n`;
}

function totalsText({ up, paused }: Totals): string {
  return paused === 0 ? `${up} up` : `${up} up, ${paused} paused`;
}
