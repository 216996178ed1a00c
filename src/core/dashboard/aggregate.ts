import type { CircuitState } from '../balancer/guard/circuit.js';
import { sum } from '../model/sum.js';
import type { ClientFigures, InstanceFigures } from '../stats/figures.js';
import { quantileOf } from '../stats/latency-buckets.js';
import type { AddressFigures } from './feed.js';
import type { Row } from './frame.js';

/** Rates and errors are of this window: short enough to see a change, long enough to be steady. */
const rateWindow = 10;
const healthWindow = 60;

/** The figures of any number of clients added up, by address. */
export function aggregate(clients: readonly Pick<ClientFigures, 'instances'>[]): ReadonlyMap<string, AddressFigures> {
  const byAddress = new Map<string, InstanceFigures[]>();
  for (const { instances } of clients) {
    for (const instance of instances) {
      const known = byAddress.get(instance.address);
      if (known) known.push(instance);
      else byAddress.set(instance.address, [instance]);
    }
  }
  return new Map([...byAddress].map(([address, all]) => [address, added(all)]));
}

function added(all: readonly InstanceFigures[]): AddressFigures {
  const listed = all.filter(({ isListed }) => isListed);
  const calls = sum(all, ({ windows }) => windows[rateWindow].calls);
  const errors = sum(all, ({ windows }) => windows[rateWindow].errors);
  return {
    health: healthOf(listed),
    load: mean(listed.flatMap(({ load }) => (load === null ? [] : [load]))),
    inFlight: sum(all, ({ inFlight }) => inFlight),
    // Whoever does not list it any more starts no call there, whatever the last ten seconds say.
    callsPerSecond: sum(listed, ({ windows }) => windows[rateWindow].picksPerSecond),
    errorRate: calls === 0 ? null : errors / calls,
    ewmaMs: ewma(listed),
    isEwmaBound: false,
    p99Ms: quantileOf(
      all.flatMap(({ latencies }) => latencies),
      0.99,
    ),
    codes: codesOf(all),
  };
}

function healthOf(listed: readonly InstanceFigures[]): Row['health'] {
  // Nobody reaches it: no call tells how it is, and none would get there.
  if (listed.length > 0 && listed.every(({ isReachable }) => isReachable === false)) return 'unhealthy';
  const is = (state: CircuitState) => listed.some(({ circuit }) => circuit === state);
  if (is('open')) return 'ejected';
  if (is('half-open')) return 'probing';
  if (listed.some(hasSucceeded)) return 'healthy';
  return listed.some(({ windows }) => windows[healthWindow].errors > 0) ? 'unhealthy' : null;
}

/**
 * Within the last minute. A call that was cancelled is no error, and no success: windows do not tell them apart, and codes
 * are of all time. So what was nothing but cancelled, beside errors, has not succeeded.
 */
function hasSucceeded({ codes, windows }: InstanceFigures): boolean {
  const { calls, errors } = windows[healthWindow];
  const cancelled = codes.CANCELLED ?? 0;
  const others = sum(Object.values(codes), (count) => count) - cancelled;
  return calls - errors > cancelled || (calls > errors && others > errors);
}

/** By the calls behind it; alike where nobody calls. */
function ewma(listed: readonly InstanceFigures[]): number | null {
  const known = listed.flatMap(({ ewmaMs, windows }) =>
    ewmaMs === null ? [] : [{ ewmaMs, calls: windows[rateWindow].calls }],
  );
  const calls = sum(known, (one) => one.calls);
  if (calls === 0) return mean(known.map(({ ewmaMs }) => ewmaMs));
  return sum(known, (one) => one.ewmaMs * one.calls) / calls;
}

function codesOf(all: readonly InstanceFigures[]): Record<string, number> {
  const codes: Record<string, number> = {};
  for (const one of all)
    for (const [name, count] of Object.entries(one.codes)) codes[name] = (codes[name] ?? 0) + count;
  return codes;
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : sum(values, (value) => value) / values.length;
}
