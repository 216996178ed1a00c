import type { Detail, Frame, Row } from '../../src/core/dashboard/frame.js';
import type { DashboardSource } from '../../src/core/dashboard/source.js';
import { seededRng } from './random.js';

export interface SyntheticOptions {
  readonly instances?: number;
  readonly seed?: number;
  readonly staleForMs?: number | null;
  readonly notices?: readonly string[];
}

export function syntheticRow(index: number, changes: Partial<Row> = {}): Row {
  const address = `10.0.${index >> 8}.${index & 255}:8080`;
  return {
    id: `id-${index}`,
    address,
    name: `n${index}`,
    state: 'up',
    health: 'healthy',
    weight: 1,
    zone: index % 2 ? 'a' : 'b',
    load: null,
    inFlight: null,
    callsPerSecond: null,
    share: null,
    errorRate: null,
    ewmaMs: null,
    isEwmaBound: false,
    p99Ms: null,
    lease: { remainingSeconds: 7, ttlSeconds: 10 },
    codes: {},
    pause: null,
    ...changes,
  };
}

export function syntheticFrame(rows: readonly Row[], changes: Partial<Frame> = {}): Frame {
  return {
    at: '2026-01-02T03:04:05.000Z',
    service: 'greeter.rpc',
    context: 'http://127.0.0.1:2379',
    policy: 'p2c_ewma',
    source: 'observers',
    observers: 3,
    view: null,
    staleForMs: null,
    skew: 1.25,
    notices: [],
    rows,
    detail: null,
    ...changes,
  };
}

/** Figures that change with every frame, the same for the same seed: a source without a registry. */
export class SyntheticSource implements DashboardSource {
  readonly #options: SyntheticOptions;
  readonly #rng;
  readonly #listeners = new Set<() => void>();
  readonly #states = new Map<number, Partial<Row>>();
  readonly #clients = ['web-1', 'web-2', 'batch'];
  #looked: string | null = null;
  #view: string | null = null;
  staleForMs: number | null;
  isClosed = false;

  constructor(options: SyntheticOptions = {}) {
    this.#options = options;
    this.#rng = seededRng(options.seed ?? 1);
    this.staleForMs = options.staleForMs ?? null;
  }

  frame(): Frame {
    const rows = Array.from({ length: this.#options.instances ?? 5 }, (_, index) => this.#row(index));
    const detail =
      rows.some((row) => row.id === this.#looked) && this.#looked !== null ? this.#detail(this.#looked) : null;
    return syntheticFrame(rows, {
      at: new Date().toISOString(),
      view: this.#view,
      staleForMs: this.staleForMs,
      notices: this.#options.notices ?? [],
      detail,
    });
  }

  /** Pauses or changes an instance, as somebody else would. */
  change(index: number, changes: Partial<Row>): void {
    this.#states.set(index, changes);
    for (const listener of this.#listeners) listener();
  }

  onNews(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  look(id: string | null): void {
    this.#looked = id;
  }

  views(): readonly string[] {
    return this.#clients;
  }

  select(view: string | null): void {
    this.#view = view;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.#listeners.clear();
  }

  #row(index: number): Row {
    const callsPerSecond = 100 + this.#rng() * 50;
    return syntheticRow(index, {
      load: 1000 + this.#rng() * 5000,
      inFlight: Math.floor(this.#rng() * 5),
      callsPerSecond,
      share: callsPerSecond / (125 * (this.#options.instances ?? 5)),
      errorRate: index % 7 === 3 ? this.#rng() * 0.1 : 0,
      health: index % 7 === 3 ? 'ejected' : 'healthy',
      ewmaMs: 1 + this.#rng() * 30,
      isEwmaBound: index % 5 === 4,
      p99Ms: 30 + this.#rng() * 200,
      codes: { OK: 1000, UNAVAILABLE: index },
      ...this.#states.get(index),
    });
  }

  #detail(id: string): Detail {
    return {
      id,
      history: [
        { id, at: '2026-01-02T03:00:00.000Z', text: 'registered' },
        { id, at: null, text: 'paused by ann: deploy' },
      ],
      ringShare: 0.2,
      trace: [
        {
          at: '2026-01-02T03:04:05.678Z',
          compared: [
            { address: '10.0.0.0:8080', load: 12, inFlight: 1 },
            { address: '10.0.0.1:8080', load: 20, inFlight: 2 },
          ],
          chosen: '10.0.0.0:8080',
          isForced: false,
        },
      ],
      readings: [],
    };
  }
}
