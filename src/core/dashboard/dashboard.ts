import type { Clock } from '../model/clock.js';
import { balanceNotices, skewOf } from './balance.js';
import type { Feed } from './feed.js';
import type { Detail, Frame, Row } from './frame.js';
import type { Registry } from './registry.js';
import { ringShares } from './ring-share.js';
import { joined } from './rows.js';
import type { DashboardSource } from './source.js';

export interface DashboardParts {
  /** Empty when no registry is asked and nobody said. */
  readonly service: string;
  readonly context: string;
  /** Null: none is asked. */
  readonly registry: Registry | null;
  readonly feed: Feed;
  readonly clock: Clock;
}

/** A ring of five hundred nodes takes a quarter of a second to make. */
const ringAgainMs = 5000;

/** Joins what the registry says of a service with the figures of one source. */
export class Dashboard implements DashboardSource {
  readonly #parts: DashboardParts;
  readonly #listeners = new Set<() => void>();
  #looked: string | null = null;
  #ring: { readonly version: number; readonly atMs: number; readonly shares: ReadonlyMap<string, number> } | null =
    null;
  #closed: Promise<void> | null = null;

  constructor(parts: DashboardParts) {
    this.#parts = parts;
    const news = () => {
      for (const listener of [...this.#listeners]) listener();
    };
    parts.registry?.onNews(news);
    parts.feed.onNews(news);
  }

  /** When the source has nothing more to tell; absent: it never ends by itself. */
  get ended(): Promise<void> | undefined {
    return this.#parts.feed.ended;
  }

  frame(): Frame {
    const { service, context, registry, feed, clock } = this.#parts;
    const figures = feed.figures();
    const registered = registry?.rows() ?? null;
    const rows = joined(registered, figures, feed.unlisted());
    const policy = feed.policy();
    const of = { policy, loadRange: feed.loadRange?.bind(feed) ?? null };
    // What only some of the calls are known of is not to be compared.
    const isWhole = rows.every(({ callsPerSecond, share }) => !callsPerSecond || share !== null);
    const balance = feed.sampleSeconds === null || !isWhole ? [] : balanceNotices(rows, of, feed.sampleSeconds);
    const duplicates = registry?.duplicates() ?? [];
    return {
      at: new Date(clock.now()).toISOString(),
      service,
      context,
      policy,
      source: feed.kind,
      observers: feed.observers(),
      view: feed.view,
      staleForMs: registry?.staleForMs ?? null,
      skew: isWhole ? skewOf(rows, policy) : null,
      notices: [
        ...feed.notices(),
        ...balance,
        ...duplicates.map((address) => `${address} is registered more than once`),
      ],
      rows,
      detail: this.#detail(rows),
    };
  }

  onNews(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  look(id: string | null): void {
    this.#looked = id;
    const registered = this.#parts.registry?.rows().find((row) => row.id === id);
    this.#parts.feed.look(registered?.address ?? id);
  }

  views(): readonly string[] {
    return this.#parts.feed.views();
  }

  select(view: string | null): void {
    this.#parts.feed.select(view);
  }

  close(): Promise<void> {
    this.#closed ??= Promise.all([this.#parts.feed.close(), this.#parts.registry?.close()]).then(() => {});
    return this.#closed;
  }

  #detail(rows: readonly Row[]): Detail | null {
    const row = rows.find(({ id }) => id === this.#looked);
    if (!row) return null;
    const { registry, feed } = this.#parts;
    const ringShare = row.state === 'up' || row.state === null ? (this.#shares(rows).get(row.address) ?? null) : null;
    return { id: row.id, history: registry?.history(row.id) ?? [], ringShare, ...feed.detail(row.address) };
  }

  #shares(rows: readonly Row[]): ReadonlyMap<string, number> {
    // Without a registry the set is what the figures name: its size tells of nearly every change.
    const version = this.#parts.registry?.version ?? rows.length;
    const now = this.#parts.clock.monotonic();
    if (this.#ring?.version === version || (this.#ring && now - this.#ring.atMs < ringAgainMs))
      return this.#ring.shares;
    const up = rows.filter(({ state, address }) => (state === 'up' || state === null) && address !== '');
    this.#ring = { version, atMs: now, shares: ringShares(up.map(({ address }) => address)) };
    return this.#ring.shares;
  }
}
