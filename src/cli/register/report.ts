import { sanitise } from '../../core/model/sanitise.js';
import { leaseHex } from '../instance-document.js';
import { document, toNdjson } from '../output/structured.js';
import { clockTime } from '../output/time.js';

export interface StateLine {
  /** ISO 8601. */
  readonly time: string;
  readonly state: string;
  readonly service: string;
  readonly address: string;
  /** The instance key; empty when the line is not about it. */
  readonly key: string;
  /** 0n: none. */
  readonly lease: bigint;
  readonly detail: string;
}

const stateWidth = 'deregistered'.length;

/** One state change: a line, or a JSON object `{time, state, service, address, key, lease, detail}` on one line. */
export function renderState(line: StateLine, ttlSeconds: number, json: boolean): string {
  const { time, state, address, key, lease, detail } = line;
  if (json) {
    const held = lease === 0n ? null : { id: lease, hex: leaseHex(lease), ttlSeconds };
    return toNdjson([document({ ...line, key: key === '' ? null : key, lease: held })]);
  }
  const where = state === 'registered' ? `as ${key} (lease ${leaseHex(lease)}, ttl ${ttlSeconds}s)` : '';
  const text = [where, detail].filter((part) => part !== '').join(', ');
  return (
    `${clockTime(Date.parse(time))}  ${state.padEnd(stateWidth)}  ${sanitise(address)}  ${sanitise(text)}`.trimEnd() +
    '\n'
  );
}
