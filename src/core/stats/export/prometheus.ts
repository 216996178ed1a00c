import type { Gauge, MetricObjectWithValues, MetricValue } from 'prom-client';
import type { InstanceTotals } from '../instance-counts.js';
import { groupSize, upperBoundMs } from '../latency-buckets.js';
import type { ServedClient } from './client.js';
import type { ClientNames } from './client-names.js';

/** The `content-type` of Prometheus' text format. */
export const metricsType = 'text/plain; version=0.0.4; charset=utf-8';

const labelNames = ['service', 'client', 'policy', 'address'] as const;
const circuitStates = ['closed', 'open', 'half-open'] as const;
/** Upper bounds of the histogram: the groups that end at 0.5 ms to 16.4 s, each twice the one before. */
const firstGroup = 4;
const lastGroup = 19;

type Labels = Record<(typeof labelNames)[number], string>;
interface Row {
  readonly labels: Labels;
  readonly totals: InstanceTotals;
}

/** With the first scrape: most programs never ask. */
export const loadLibrary = () => import('prom-client');

/**
 * The text of `/metrics`. Two clients that have service, policy and name in common would be one series: all but the first
 * get a number behind their name.
 */
export async function renderMetrics(clients: Iterable<ServedClient>, names: ClientNames): Promise<string> {
  // By its default: that is what is left of a CommonJS module in the bundle.
  const { default: prometheus } = await loadLibrary();
  const { Registry, Counter, Gauge } = prometheus;
  const registry = new Registry();
  const options = { registers: [registry], labelNames };
  const counter = (name: string, help: string, labels: readonly string[] = []) =>
    new Counter({ ...options, name: `lbctl_client_${name}`, help, labelNames: [...labelNames, ...labels] });
  const gauge = (name: string, help: string, labels: readonly string[] = []) =>
    new Gauge({ ...options, name: `lbctl_client_${name}`, help, labelNames: [...labelNames, ...labels] });
  const attempts = counter('attempts_total', 'Attempts of calls that ended, by gRPC status code.', ['code']);
  const picks = counter('picks_total', 'Attempts that chose the instance.');
  const forcePicks = counter(
    'force_picks_total',
    'Picks of an instance that compared worse, because it had not been picked for long.',
  );
  const inFlight = gauge('in_flight', 'Attempts in flight.');
  const ewma = gauge('ewma_seconds', 'Moving average of the latency, as the policy keeps it.');
  const success = gauge('success_ratio', 'Moving average of the successes, as the policy keeps it.');
  const load = gauge('load', 'What the policy compares instances by; lower is better.');
  const circuit = gauge('circuit_state', 'Whether calls go there: 1 for the state that its circuit is in.', ['state']);
  const rows = rowsOf(clients, names);
  for (const { labels, totals } of rows) {
    picks.inc(labels, totals.picks);
    inFlight.set(labels, totals.inFlight);
    for (const [code, count] of Object.entries(totals.codes)) attempts.inc({ ...labels, code }, count);
    if (totals.forcePicks !== null) forcePicks.inc(labels, totals.forcePicks);
    if (totals.ewmaMs !== null) ewma.set(labels, totals.ewmaMs / 1000);
    if (totals.success !== null) success.set(labels, totals.success);
    if (totals.load !== null) load.set(labels, totals.load);
    if (totals.circuit === null) continue;
    for (const state of circuitStates) circuit.set({ ...labels, state }, state === totals.circuit ? 1 : 0);
  }
  const name = 'lbctl_client_latency_seconds';
  const help = 'Latency of attempts, from the start of the stream to its end.';
  // The library's own histogram can only be filled one observation at a time.
  class Latencies extends Gauge {
    override async get(): Promise<MetricObjectWithValues<MetricValue<string>>> {
      const values = rows.flatMap((row) => histogramValues(name, row));
      return { name, help, type: 'histogram', values } as unknown as Awaited<ReturnType<Gauge['get']>>;
    }
  }
  new Latencies({ ...options, name, help });
  return registry.metrics();
}

function rowsOf(clients: Iterable<ServedClient>, names: ClientNames): readonly Row[] {
  return [...clients].flatMap((client) => {
    const { service, policy } = client;
    const name = names.of(client);
    return client.totals().map((totals) => ({
      labels: { service, client: name, policy, address: totals.address },
      totals,
    }));
  });
}

function histogramValues(name: string, { labels, totals: { latencyTotals } }: Row): object[] {
  const values: object[] = [];
  let below = 0;
  for (let group = 0; group < latencyTotals.byGroup.length; group++) {
    below += latencyTotals.byGroup[group] ?? 0;
    if (group < firstGroup || group > lastGroup) continue;
    const le = upperBoundMs(group * groupSize + groupSize - 1) / 1000;
    values.push({ metricName: `${name}_bucket`, labels: { le, ...labels }, value: below });
  }
  values.push(
    { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: below },
    { metricName: `${name}_sum`, labels, value: latencyTotals.sumMs / 1000 },
    { metricName: `${name}_count`, labels, value: below },
  );
  return values;
}
