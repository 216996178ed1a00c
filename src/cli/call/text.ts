import { sanitise } from '../../core/model/sanitise.js';
import type { Latencies, NodeFigures } from '../../core/operations/call.js';
import type { View } from '../base-command.js';
import { type Column, table } from '../output/table.js';
import type { CallResult } from './run.js';

const unknown = '-';

function ms(value: number | undefined): string {
  if (value === undefined) return unknown;
  if (value < 10) return `${value.toFixed(2)}ms`;
  return value < 1000 ? `${value.toFixed(1)}ms` : `${(value / 1000).toFixed(2)}s`;
}

const latency = (title: string, of: keyof Latencies, dropOrder: number): Column<NodeFigures> => ({
  title,
  value: (row) => ms(row.latencyMs?.[of]),
  align: 'right',
  dropOrder,
});

const columns: ReadonlyArray<Column<NodeFigures>> = [
  { title: 'ADDRESS', value: (row) => row.address },
  { title: 'CALLS', value: (row) => String(row.calls), align: 'right' },
  { title: 'SHARE', value: (row) => `${(row.share * 100).toFixed(1)}%`, align: 'right' },
  {
    title: 'ERRORS',
    value: (row) => String(row.errors),
    align: 'right',
    paint: (row, style) => (row.errors > 0 ? style.red : undefined),
  },
  latency('P50', 'p50', 4),
  latency('P90', 'p90', 3),
  latency('P99', 'p99', 2),
  latency('MAX', 'max', 1),
];

/** A table a policy, and a line that sums it up. */
export async function callText(results: readonly CallResult[], { style, width }: View): Promise<string> {
  const blocks = await Promise.all(
    results.map(async (result) => {
      const rows = result.nodes.length === 0 ? '' : await table(columns, result.nodes, { width, style });
      return `${style.bold(result.policy)}  ${sanitise(result.method)}\n${rows}${summary(result)}\n`;
    }),
  );
  return blocks.join('\n');
}

function summary(result: CallResult): string {
  const { calls, errors, heldBack, durationMs, latencyMs, outcomes } = result;
  const seconds = durationMs / 1000;
  const rate = seconds > 0 ? `, ${(calls / seconds).toFixed(calls / seconds < 10 ? 1 : 0)} a second` : '';
  const named = Object.entries(outcomes).map(([outcome, count]) => `${outcome} ${count}`);
  const lines = [
    `${calls} calls in ${seconds.toFixed(1)} s${rate}; ${errors} failed (${named.join(', ') || 'none made'})`,
  ];
  if (heldBack > 0) lines.push(`${heldBack} calls were held back: too many were in flight (--concurrency)`);
  if (latencyMs) {
    const { p50, p90, p99, p999, max } = latencyMs;
    lines.push(`latency p50 ${ms(p50)}, p90 ${ms(p90)}, p99 ${ms(p99)}, p99.9 ${ms(p999)}, max ${ms(max)}`);
  }
  return lines.join('\n');
}
