import { formatDuration } from '../../core/model/duration.js';
import type { DrainInstance, DrainResult } from '../../core/operations/drain/request.js';
import type { Outcome } from '../base-command.js';
import { type Column, table } from '../output/table.js';

const columns: ReadonlyArray<Column<DrainInstance>> = [
  { title: 'ADDRESS', value: (row) => row.address },
  {
    title: 'STATE',
    value: (row) => row.state,
    paint: (row, style) => ({ up: style.green, paused: style.yellow, gone: style.dim, unknown: style.red })[row.state],
  },
  { title: 'STRATEGY', value: (row) => row.strategy, dropOrder: 2 },
  { title: 'WAITED', value: (row) => formatDuration(row.waitedMs), align: 'right', dropOrder: 1 },
  { title: 'CONDITION', value: (row) => row.condition },
];

/** `interruptedBy`: the exit code of an interruption. */
export function drainOutcome(result: DrainResult, interruptedBy: number): Outcome {
  const { error, exitCode, ...document } = result;
  const code = result.outcome === 'interrupted' ? interruptedBy : exitCode;
  return {
    document,
    rows: document.instances,
    addresses: document.instances.map(({ address }) => address),
    text: (view) => table(columns, document.instances, view),
    ...(error && { error }),
    ...(code !== undefined && { exitCode: code }),
  };
}

/** What is left to do, for people; empty when nothing is. */
export function lastWords({ service, instances, outcome, guard }: DrainResult): readonly string[] {
  if (guard) return [`Guard: ${guard.up} up, ${guard.left} would be left, ${guard.needed} must stay.`];
  const of = (state: DrainInstance['state']) =>
    instances.filter((one) => one.state === state).map(({ address }) => address);
  const [paused, unknown] = [of('paused'), of('unknown')];
  if (outcome === 'interrupted') {
    return [
      ...instances.map(({ address, condition }) => `${address}: ${condition}.`),
      'The same command line goes on.',
      ...(paused.length + unknown.length > 0
        ? [`lbctl resume ${service} ${[...paused, ...unknown].join(' ')} puts back what is out.`]
        : []),
    ];
  }
  if (outcome === 'done' && paused.length > 0) {
    return [`Out of rotation until: lbctl resume ${service} ${paused.join(' ')}`];
  }
  return [];
}
