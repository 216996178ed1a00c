// Run: node --import tsx bench/policies.ts
// One pick and its done, for each policy at 3, 32 and 300 instances, beside grpc-js's own round_robin picker, and
// go-zero's p2c_ewma where Go is, in one run.
import { createRequire } from 'node:module';
import { createBalancer, policyNames } from '../src/core/balancer/policies.js';
import { benchmarkGoZero } from './gozero.js';
import { type Cost, keys, measure, nodes, sink } from './measure.js';

const sizes = [3, 32, 300];
const ok = { code: 0 };

function ours(policy: string, size: number): Cost {
  const balancer = createBalancer(policy);
  balancer.update(nodes(size));
  const keyed = balancer.place !== undefined;
  const options = keys.map((key) => ({ key }));
  return measure(keys.length, () => {
    for (const option of options) {
      const picked = keyed ? balancer.pick(option) : balancer.pick();
      sink.value ^= picked.instance.address.length;
      picked.done(ok);
    }
  });
}

/** The class that grpc-js keeps to itself; its children answer at once, as ready connections do. */
function builtIn(size: number): Cost {
  const { RoundRobinLoadBalancer } = createRequire(import.meta.resolve('@grpc/grpc-js'))(
    './load-balancer-round-robin.js',
  );
  let picker: { pick(args: object): { subchannel: unknown } } | undefined;
  const nothing = () => undefined;
  const balancer = new RoundRobinLoadBalancer({
    createSubchannel: nothing,
    requestReresolution: nothing,
    addChannelzChild: nothing,
    removeChannelzChild: nothing,
    updateState: (_state: number, next: typeof picker) => {
      picker = next;
    },
  });
  const answer = { pickResultType: 0, subchannel: {}, status: null, onCallStarted: null, onCallEnded: null };
  const ready = 2;
  balancer.children = nodes(size).map(({ address }) => ({
    getConnectivityState: () => ready,
    getEndpoint: () => ({ addresses: [{ host: address, port: 1 }] }),
    getPicker: () => ({ pick: () => answer }),
  }));
  balancer.calculateAndUpdateState();
  const args = { metadata: {}, extraPickInfo: {} };
  return measure(keys.length, () => {
    for (const _ of keys) sink.value ^= picker?.pick(args).subchannel ? 1 : 2;
  });
}

const line = (name: string, costs: readonly string[]) =>
  console.log(`${name.padEnd(34)}${costs.map((cost) => cost.padStart(14)).join('')}`);
const shown = ({ medianNs, bestNs }: Cost) => `${medianNs.toFixed(0)} (${bestNs.toFixed(0)})`;

line('ns a pick and done: median (best)', sizes.map(String));
line(
  'grpc-js round_robin, pick only',
  sizes.map((size) => shown(builtIn(size))),
);
for (const policy of policyNames)
  line(
    policy,
    sizes.map((size) => shown(ours(policy, size))),
  );
const goZero = benchmarkGoZero();
if (goZero === null) console.log('no Go here: go-zero is not compared');
else
  line(
    "go-zero's p2c_ewma",
    sizes.map((size) => (goZero.get(`PickAndDone/${size}`) ?? Number.NaN).toFixed(0)),
  );
