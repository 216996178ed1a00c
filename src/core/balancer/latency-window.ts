/** At most so many answers are kept: enough for a p99, cheap enough to sort at every answer. */
const size = 128;

/** The latencies of the last answers of one instance, those of the last `windowMs` only. */
export class LatencyWindow {
  readonly #latencies = new Float64Array(size);
  readonly #times = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
  #next = 0;

  constructor(private readonly windowMs: number) {}

  add(latencyMs: number, nowMs: number): void {
    this.#latencies[this.#next] = latencyMs;
    this.#times[this.#next] = nowMs;
    this.#next = (this.#next + 1) % size;
  }

  average(nowMs: number): number {
    const recent = this.#recent(nowMs);
    return recent.reduce((sum, latency) => sum + latency, 0) / recent.length;
  }

  /** Nearest rank; NaN without an answer. */
  quantile(q: number, nowMs: number): number {
    const recent = this.#recent(nowMs).sort();
    return recent[Math.max(0, Math.ceil(q * recent.length) - 1)] ?? Number.NaN;
  }

  #recent(nowMs: number): Float64Array {
    return this.#latencies.filter((_, i) => nowMs - (this.#times[i] ?? Number.NEGATIVE_INFINITY) <= this.windowMs);
  }
}
