// Run: node --import tsx bench/hashing.ts
// What hashing costs, beside the same on BigInt, in one run: the median of rounds, and the best one, which a busy machine
// disturbs least.
import { crc32 } from '../src/core/hashing/crc32.js';
import { murmur3 } from '../src/core/hashing/murmur3.js';
import { Ring } from '../src/core/hashing/ring.js';
import { naiveMurmur3 } from '../test/core/hashing/naive.js';

const rounds = 31;
const keys = Array.from({ length: 20_000 }, (_, i) => `user:${i}`);
/** Where results go, so that no call can be optimised away. */
const sink = { value: 0 };

interface Cost {
  readonly medianNs: number;
  readonly bestNs: number;
}

function measure(callsARound: number, round: () => void): Cost {
  const times: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    round();
    times.push(((performance.now() - start) * 1e6) / callsARound);
  }
  times.sort((a, b) => a - b);
  return { medianNs: times[rounds >> 1] ?? Number.NaN, bestNs: times[0] ?? Number.NaN };
}

function overKeys(hash: (key: string) => number): Cost {
  return measure(keys.length, () => {
    for (const key of keys) sink.value ^= hash(key);
  });
}

const nodes = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ address: `10.0.${i >> 8}.${i & 255}:8080` }));
const ring300 = new Ring(nodes(300), 'gozero');
const murmur = overKeys((key) => murmur3(key).lo);
const bigint = overKeys((key) => Number(naiveMurmur3(key) & 0xffn));

const rows: Array<[string, Cost]> = [
  ['murmur3, one key', murmur],
  ['murmur3 on BigInt', bigint],
  ['crc32, one key', overKeys(crc32)],
  ['ring of 300 nodes, owner', overKeys((key) => ring300.owner(key)?.length ?? 0)],
  ['ring of 300 nodes, owner and 5 next', overKeys((key) => ring300.owners(key, 6).length)],
  ['build a ring of 300 nodes', measure(1, () => new Ring(nodes(300), 'gozero'))],
  ['build a ring of 3000 nodes', measure(1, () => new Ring(nodes(3000), 'gozero'))],
];

function amount(ns: number): string {
  return (ns < 100_000 ? `${ns.toFixed(0)} ns` : `${(ns / 1e6).toFixed(1)} ms`).padStart(10);
}

console.log(`${''.padEnd(36)}${'median'.padStart(10)}${'best'.padStart(10)}`);
for (const [what, { medianNs, bestNs }] of rows) console.log(`${what.padEnd(36)}${amount(medianNs)}${amount(bestNs)}`);
console.log(`BigInt costs ${(bigint.bestNs / murmur.bestNs).toFixed(1)} times as much (best rounds)`);
