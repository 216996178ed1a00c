/** The rules of p2c_ewma, written down once more, one after the other and without thought for speed. */
export class NaiveP2c {
  readonly #nodes: Array<{ lag: number; success: number; inFlight: number; last: number; picked: number }>;

  constructor(
    n: number,
    private readonly rng: () => number,
  ) {
    this.#nodes = Array.from({ length: n }, () => ({
      lag: 0,
      success: 1000,
      inFlight: 0,
      last: -1e18,
      picked: -1e18,
    }));
  }

  pick(now: number): { node: number; done: (code: number, now: number) => void } {
    const chosen = this.#compare(this.#candidates(), now);
    const node = this.#at(chosen);
    node.picked = now;
    node.inFlight += 1;
    return {
      node: chosen,
      done: (code, end) => {
        node.inFlight -= 1;
        const td = Math.max(end - node.last, 0);
        let w = Math.exp(-td / 10_000_000_000);
        if (node.lag === 0) w = 0;
        node.last = end;
        node.lag = Math.floor(node.lag * w + (end - now) * (1 - w));
        const bad = [4, 8, 12, 13, 14, 15].includes(code);
        node.success = Math.floor(node.success * w + (bad ? 0 : 1000) * (1 - w));
      },
    };
  }

  /** Load and calls in flight of each node. */
  state(): Array<[number, number]> {
    return this.#nodes.map((node, i) => [this.#load(i), node.inFlight]);
  }

  #candidates(): number[] {
    const n = this.#nodes.length;
    if (n === 1) return [0];
    if (n === 2) return [0, 1];
    let pair: number[] = [];
    for (let time = 0; time < 3; time += 1) {
      const a = Math.floor(this.rng() * n);
      let b = Math.floor(this.rng() * (n - 1));
      if (b >= a) b += 1;
      pair = [a, b];
      if (this.#at(a).success > 500 && this.#at(b).success > 500) break;
    }
    return pair;
  }

  #compare([first, second]: number[], now: number): number {
    if (first === undefined) throw new Error('no candidate');
    if (second === undefined) return first;
    const winner = this.#load(first) <= this.#load(second) ? first : second;
    const loser = winner === first ? second : first;
    return now - this.#at(loser).picked > 1_000_000_000 ? loser : winner;
  }

  #load(index: number): number {
    const { lag, inFlight } = this.#at(index);
    const load = Math.floor(Math.sqrt(lag + 1)) * (inFlight + 1);
    return load === 0 ? 2147483647 : load;
  }

  #at(index: number) {
    const node = this.#nodes[index];
    if (node === undefined) throw new Error(`no node ${index}`);
    return node;
  }
}
