/** What a caller of a service knows of one instance. Shares and rates are fractions 0..1; unknown is null. */
export interface TrafficRow {
  readonly address: string;
  readonly name: string;
  readonly admin: 'up' | 'paused' | 'gone';
  readonly weight: number | null;
  readonly zone: string;
  readonly calls: number;
  readonly callsPerSecond: number | null;
  readonly share: number | null;
  readonly errorRate: number | null;
  readonly averageMs: number | null;
  readonly inFlight: number;
}

export interface TrafficView {
  readonly service: string;
  readonly endpoint: string;
  readonly policy: string;
  readonly elapsedMs: number;
  readonly rows: readonly TrafficRow[];
}
