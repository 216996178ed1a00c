/** Cost of one operation, over rounds: the median, and the best, which a busy machine disturbs least. */
export interface Cost {
  readonly medianNs: number;
  readonly bestNs: number;
}

/** Where results go, so that no call can be optimised away. */
export const sink = { value: 0 };

const rounds = 31;

/** Times `round`, which does `operations` operations, again and again. */
export function measure(operations: number, round: () => void, times = rounds): Cost {
  const took: number[] = [];
  for (let i = -3; i < times; i++) {
    const start = performance.now();
    round();
    if (i >= 0) took.push(((performance.now() - start) * 1e6) / operations);
  }
  took.sort((a, b) => a - b);
  return { medianNs: took[times >> 1] ?? Number.NaN, bestNs: took[0] ?? Number.NaN };
}

export function amount(ns: number): string {
  return (ns < 100_000 ? `${ns.toFixed(0)} ns` : `${(ns / 1e6).toFixed(1)} ms`).padStart(10);
}

export const nodes = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ address: `10.0.${i >> 8}.${i & 255}:8080` }));

export const keys: readonly string[] = Array.from({ length: 20_000 }, (_, i) => `user:${i}`);
