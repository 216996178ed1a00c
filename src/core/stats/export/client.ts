import type { ClientFigures } from '../figures.js';
import type { InstanceTotals } from '../instance-counts.js';

/** A client whose statistics are served. */
export interface ServedClient {
  /** What it calls, its name, and its policy: as the figures tell them. */
  readonly service: string;
  readonly client: string;
  readonly policy: string;
  /** What holds the counts: another client with the same one goes on with them. */
  readonly counting: object;
  /** `traceOf`: the address whose last comparisons are told too; null for none. */
  figures(traceOf: string | null): ClientFigures;
  /** Of the same instances, what adds up over all time, and what is so now: a scrape keeps its own windows. */
  totals(): readonly InstanceTotals[];
}
