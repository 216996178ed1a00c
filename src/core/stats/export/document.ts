import type { ClientFigures } from '../figures.js';
import type { ServedClient } from './client.js';

/** What a process tells of its clients: the JSON of `/statistics`, and of each line of `/statistics/stream`. */
export interface StatisticsDocument {
  /** Another one means another shape. */
  readonly schemaVersion: 1;
  /** Name of the machine. */
  readonly host: string;
  /** The process there. */
  readonly pid: number;
  /** ISO 8601. */
  readonly at: string;
  /** Of each channel of the process that is served here. */
  readonly clients: readonly ClientFigures[];
}

/** What a reader asked for. */
export interface Selection {
  /** Null: of all services. */
  readonly service: string | null;
  /** The address whose trace is told; null for none. */
  readonly traceOf: string | null;
}

export function statisticsDocument(
  clients: Iterable<ServedClient>,
  { service, traceOf }: Selection,
  by: { readonly host: string; readonly pid: number; readonly nowMs: number },
): StatisticsDocument {
  const chosen = [...clients].filter((client) => service === null || client.service === service);
  return {
    schemaVersion: 1,
    host: by.host,
    pid: by.pid,
    at: new Date(by.nowMs).toISOString(),
    clients: chosen.map((client) => client.figures(traceOf)),
  };
}
