import type { AddressFigures } from '../feed.js';

/** What answers said that were OK to gRPC: an instance that answers NOT_SERVING is reached, and yet not healthy. */
export class Verdicts {
  readonly #counts = new Map<string, Map<string, number>>();
  readonly #wrong = new Set<string>();

  /** An attempt there has ended; what its answer says comes after it. */
  answered(address: string): void {
    this.#wrong.delete(address);
  }

  /** Its answer was `verdict`. */
  wrong(address: string, verdict: string): void {
    this.#wrong.add(address);
    const counts = this.#counts.get(address) ?? new Map<string, number>();
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    this.#counts.set(address, counts);
  }

  appliedTo(figures: ReadonlyMap<string, AddressFigures>): ReadonlyMap<string, AddressFigures> {
    if (this.#counts.size === 0) return figures;
    for (const address of this.#counts.keys()) if (!figures.has(address)) this.#forget(address);
    const applied = new Map(figures);
    for (const [address, counts] of this.#counts) {
      const known = figures.get(address);
      if (known === undefined) continue;
      const { OK: ok = 0, ...others } = known.codes;
      const codes: Record<string, number> = others;
      let wrong = 0;
      for (const [verdict, count] of counts) {
        codes[verdict] = count;
        wrong += count;
      }
      const isWrong = this.#wrong.has(address);
      applied.set(address, {
        ...known,
        ...(isWrong && known.health === 'healthy' && { health: 'unhealthy', errorRate: 1 }),
        codes: { ...(ok > wrong && { OK: ok - wrong }), ...codes },
      });
    }
    return applied;
  }

  #forget(address: string): void {
    this.#counts.delete(address);
    this.#wrong.delete(address);
  }
}
