import type { ClientFigures } from '../figures.js';
import type { LatencyTotals } from '../instance-counts.js';

/** A client whose statistics are served. */
export interface ServedClient {
  /** `traceOf`: the address whose last comparisons are told too; null for none. */
  figures(traceOf: string | null): ClientFigures;
  /** The latencies since each instance of the figures came, by address. */
  totals(): ReadonlyMap<string, LatencyTotals>;
}
