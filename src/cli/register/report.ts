import { sanitise } from '../output/sanitise.js';
import { document, toNdjson } from '../output/structured.js';

/** One state change of a registration, as the JSON contract has it. */
export interface StateLine {
  /** ISO 8601. */
  readonly time: string;
  readonly state: string;
  readonly service: string;
  readonly address: string;
  readonly detail: string;
}

const stateWidth = 'registering'.length;

/** One line, ending with a newline: `12:00:01.042  registered   10.0.0.7:8080  as user.rpc/7587`. */
export function renderState(line: StateLine, json: boolean, clockTime: (ms: number) => string): string {
  if (json) return toNdjson([document(line)]);
  const time = clockTime(Date.parse(line.time));
  return `${[time, line.state.padEnd(stateWidth), sanitise(line.address), sanitise(line.detail)].join('  ').trimEnd()}\n`;
}
