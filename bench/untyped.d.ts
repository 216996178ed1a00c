declare module 'hashring' {
  export default class HashRing {
    constructor(nodes: readonly string[]);
    get(key: string): string;
  }
}

declare module 'consistent-hash' {
  export default class ConsistentHash {
    constructor(options: { range: number; weight: number; distribution: 'uniform' | 'random' });
    add(node: string): void;
    get(key: string): string;
  }
}
