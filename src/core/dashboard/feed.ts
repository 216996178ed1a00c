import type { LoadRange } from '../stats/gozero-log/load.js';
import type { Detail, Row, SourceKind } from './frame.js';

/** What a source knows of one address. */
export type AddressFigures = Pick<
  Row,
  'health' | 'load' | 'inFlight' | 'callsPerSecond' | 'errorRate' | 'ewmaMs' | 'isEwmaBound' | 'p99Ms' | 'codes'
>;

/** Where the figures come from; the registry is asked apart from it. */
export interface Feed {
  readonly kind: SourceKind;
  /** Of its clients; several are parted by `, `. Null: not known. */
  policy(): string | null;
  /** Clients whose figures are in it; null when it is not clients. */
  observers(): number | null;
  /** By address, as of now. */
  figures(): ReadonlyMap<string, AddressFigures>;
  /** What is known of an address that is out of rotation and has no figures. */
  unlisted(): AddressFigures;
  /** So many seconds of calls are behind a rate; null: the calls are the dashboard's own, and nothing is to be read from them. */
  readonly sampleSeconds: number | null;
  /**
   * Where errors are not counted: the load that an instance has of itself, without the calls that were in flight when it was
   * taken; null where that is not known.
   */
  loadRange?(address: string): LoadRange | null;
  /** What is wrong with the source itself, worst first. */
  notices(): readonly string[];
  /** The address whose `detail` will be asked for. */
  look(address: string | null): void;
  detail(address: string): Pick<Detail, 'trace' | 'readings'>;
  views(): readonly string[];
  select(view: string | null): void;
  /** Of the chosen view; null: all added up. */
  readonly view: string | null;
  /** `listener` is told of what should not wait for the next refresh. */
  onNews(listener: () => void): void;
  /** When nothing more will come; absent: it never ends by itself. */
  readonly ended?: Promise<void>;
  close(): Promise<void>;
}

export const unknownFigures: AddressFigures = {
  health: null,
  load: null,
  inFlight: null,
  callsPerSecond: null,
  errorRate: null,
  ewmaMs: null,
  isEwmaBound: false,
  p99Ms: null,
  codes: {},
};

/** Where it is known that no call goes. */
export const idleFigures: AddressFigures = { ...unknownFigures, inFlight: 0, callsPerSecond: 0 };
