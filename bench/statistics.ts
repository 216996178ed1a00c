// Run: node --import tsx bench/statistics.ts
// What the statistics of one call cost: its start and its end on one of 3, 32 and 300 instances, the reading of the clock
// apart, beside the record alone of two histograms that have no windows.
import { createHistogram } from 'node:perf_hooks';
import { build } from 'hdr-histogram-js';
import { systemClock } from '../src/core/model/clock.js';
import { ClientCounts } from '../src/core/stats/client-counts.js';
import { type Cost, measure, nodes, sink } from './measure.js';

const calls = 100_000;
/** 0.2 to 40 ms, as good as random. */
const latenciesMs = Float64Array.from({ length: 4096 }, (_, i) => 0.2 * 200 ** ((i * 0.618034) % 1));
const latency = (call: number): number => latenciesMs[call & 4095] ?? 1;

function counting(size: number): Cost {
  const counts = new ClientCounts(systemClock, []);
  counts.list(nodes(size).map(({ address }) => address));
  const all = counts.listed;
  // 20,000 calls a second.
  let nowMs = systemClock.monotonic();
  return measure(calls, () => {
    for (let call = 0; call < calls; call++) {
      nowMs += 0.05;
      const instance = all[call % size];
      instance?.began(nowMs);
      instance?.ended(0, latency(call), nowMs, false);
    }
    sink.value ^= all[0]?.picks ?? 0;
  });
}

function clock(): Cost {
  return measure(calls, () => {
    for (let call = 0; call < calls; call++) sink.value ^= systemClock.monotonic() + systemClock.monotonic();
  });
}

function hdr(): Cost {
  const histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: 3_600_000_000,
    numberOfSignificantValueDigits: 2,
  });
  return measure(calls, () => {
    for (let call = 0; call < calls; call++) histogram.recordValue(Math.round(latency(call) * 1000));
    sink.value ^= histogram.totalCount;
  });
}

function perfHooks(): Cost {
  const histogram = createHistogram({ lowest: 1, highest: 3_600_000_000, figures: 2 });
  return measure(calls, () => {
    for (let call = 0; call < calls; call++) histogram.record(Math.max(1, Math.round(latency(call) * 1000)));
    sink.value ^= histogram.count;
  });
}

const shown = ({ medianNs, bestNs }: Cost) => `${medianNs.toFixed(0)} (${bestNs.toFixed(0)})`.padStart(14);
console.log(`${'ns a call: median (best)'.padEnd(44)}${'3'.padStart(14)}${'32'.padStart(14)}${'300'.padStart(14)}`);
console.log(`${'counting: start and end'.padEnd(44)}${[3, 32, 300].map((size) => shown(counting(size))).join('')}`);
console.log(`${'two readings of the clock'.padEnd(44)}${shown(clock())}`);
console.log(`${'hdr-histogram-js: record, two digits'.padEnd(44)}${shown(hdr())}`);
console.log(`${'perf_hooks.createHistogram: record'.padEnd(44)}${shown(perfHooks())}`);
