/** The rules of kratos's p2c, written down once more, one after the other and without thought for speed. */
export class NaiveKratos {
  readonly #nodes: Array<{
    lag: number;
    success: number;
    starts: number[];
    last: number;
    picked: number;
    weight: { value: number; at: number } | null;
  }>;

  constructor(
    n: number,
    private readonly rng: () => number,
  ) {
    this.#nodes = Array.from({ length: n }, () => ({
      lag: 0,
      success: 1000,
      starts: [],
      last: -1e18,
      picked: -1e18,
      weight: null,
    }));
  }

  pick(now: number): { node: number; done: (code: number, now: number) => void } {
    const chosen = this.#choose(now);
    const node = this.#at(chosen);
    node.picked = now;
    node.starts.push(now);
    return {
      node: chosen,
      done: (code, end) => {
        node.starts.splice(node.starts.indexOf(now), 1);
        let w = Math.exp(-(end - node.last) / 600_000_000);
        if (node.lag === 0) w = 0;
        node.last = end;
        node.lag = Math.floor(node.lag * w + (end - now) * (1 - w));
        node.success = Math.floor(node.success * w + (code === 4 || code === 14 ? 0 : 1000) * (1 - w));
      },
    };
  }

  /** Load and calls in flight of each node. */
  state(now: number): Array<[number, number]> {
    return this.#nodes.map((node, i) => [this.#load(i, now), node.starts.length]);
  }

  #choose(now: number): number {
    const n = this.#nodes.length;
    if (n === 1) return 0;
    const a = Math.floor(this.rng() * n);
    let b = Math.floor(this.rng() * (n - 1));
    if (b >= a) b += 1;
    const weightOfB = this.#weight(b, now);
    const weightOfA = this.#weight(a, now);
    const [winner, loser] = weightOfB > weightOfA ? [b, a] : [a, b];
    return now - this.#at(loser).picked > 3_000_000_000 ? loser : winner;
  }

  #weight(index: number, now: number): number {
    const node = this.#at(index);
    if (node.weight === null || now - node.weight.at > 5_000_000) {
      node.weight = { value: (node.success * 10_000) / this.#load(index, now), at: now };
    }
    return node.weight.value;
  }

  #load(index: number, now: number): number {
    const { lag, starts } = this.#at(index);
    if (lag === 0) return 100_000 * (starts.length + 1);
    const slow = starts.map((start) => now - start).filter((age) => age > lag);
    let longest = lag;
    if (slow.length * 2 > starts.length) {
      longest = Math.max(lag, Math.floor(slow.reduce((sum, age) => sum + age, 0) / slow.length));
    }
    return Math.floor(Math.sqrt(longest + 5_000_000)) * (starts.length + 1);
  }

  #at(index: number) {
    const node = this.#nodes[index];
    if (node === undefined) throw new Error(`no node ${index}`);
    return node;
  }
}
