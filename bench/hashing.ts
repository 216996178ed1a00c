// Run: node --import tsx bench/hashing.ts
// What hashing and rings cost, beside a BigInt implementation, npm's hashring and consistent-hash, and go-zero's ring
// where Go is, in one run.
import ConsistentHash from 'consistent-hash';
import HashRing from 'hashring';
import { crc32 } from '../src/core/hashing/crc32.js';
import { murmur3 } from '../src/core/hashing/murmur3.js';
import { Ring } from '../src/core/hashing/ring.js';
import { naiveMurmur3 } from '../test/core/hashing/naive.js';
import { benchmarkGoZero } from './gozero.js';
import { amount, type Cost, keys, measure, nodes, sink } from './measure.js';

function overKeys(hash: (key: string) => number): Cost {
  return measure(keys.length, () => {
    for (const key of keys) sink.value ^= hash(key);
  });
}

/** npm's rings are slow to build: fewer rounds. */
const slowRounds = 5;
const addresses = nodes(300).map(({ address }) => address);
const ring300 = new Ring(nodes(300), 'gozero');
const hashRing = new HashRing(addresses);
const buildConsistentHash = () => {
  const ring = new ConsistentHash({ range: 2 ** 31, weight: 100, distribution: 'uniform' });
  for (const address of addresses) ring.add(address);
  // It sorts its points at the first lookup.
  ring.get('');
  return ring;
};
const consistentHash = buildConsistentHash();

const rows: Array<[string, Cost]> = [
  ['murmur3 x64-128, one key', overKeys((key) => murmur3(key).lo)],
  ['  the same on BigInt', overKeys((key) => Number(naiveMurmur3(key) & 0xffn))],
  ['crc32, one key', overKeys(crc32)],
  ['ring of 300: owner', overKeys((key) => ring300.owner(key)?.length ?? 0)],
  ['  npm hashring', overKeys((key) => hashRing.get(key).length)],
  ['  npm consistent-hash', overKeys((key) => consistentHash.get(key).length)],
  ['ring of 300: owner and 5 next', overKeys((key) => ring300.owners(key, 6).length)],
  ['build a ring of 300', measure(1, () => new Ring(nodes(300), 'gozero'))],
  ['  npm hashring', measure(1, () => new HashRing(addresses), slowRounds)],
  ['  npm consistent-hash', measure(1, () => buildConsistentHash(), slowRounds)],
  ['build a ring of 3000', measure(1, () => new Ring(nodes(3000), 'gozero'))],
];

console.log(`${''.padEnd(36)}${'median'.padStart(10)}${'best'.padStart(10)}`);
for (const [what, { medianNs, bestNs }] of rows) console.log(`${what.padEnd(36)}${amount(medianNs)}${amount(bestNs)}`);
const goZero = benchmarkGoZero();
if (goZero === null) console.log('no Go here: go-zero is not compared');
else {
  console.log(`${'go-zero: owner on a ring of 300'.padEnd(36)}${amount(goZero.get('RingPick300') ?? Number.NaN)}`);
  console.log(`${'go-zero: build a ring of 300'.padEnd(36)}${amount(goZero.get('RingBuild300') ?? Number.NaN)}`);
}
