import { hostname, userInfo } from 'node:os';
import * as Args from '@oclif/core/args';
import * as Flags from '@oclif/core/flags';
import { formatDuration, parseTimeout } from '../../core/model/duration.js';
import { isLbctlError } from '../../core/model/errors.js';
import type { OperationInstance, OperationResult } from '../../core/operations/result.js';
import type { Outcome } from '../base-command.js';
import { type Column, table } from '../output/table.js';

/** What the verbs that steer instances have in common: SERVICE [INSTANCE…] and the flags that select and wait. */
export const serviceArg = {
  service: Args.string({ description: 'The service.', required: true, ignoreStdin: true }),
};

export const selectionFlags = {
  all: Flags.boolean({ summary: 'Every instance of the service.' }),
  'dry-run': Flags.boolean({ summary: 'Show what would be done, and do nothing.' }),
  reason: Flags.string({ summary: 'Why, for others to see.', helpValue: 'TEXT' }),
};

export const followDefaults = { timeout: '10s' };

export const followFlag = {
  timeout: Flags.string({
    summary: 'How long the owners of the instances have to follow.',
    helpValue: 'DURATION',
    default: followDefaults.timeout,
  }),
};

export function steeringRequest(
  argv: readonly unknown[],
  flags: { all: boolean; 'dry-run': boolean; reason?: string | undefined },
  signal: AbortSignal,
) {
  // The first is SERVICE; what follows are as many selectors as were written.
  const [service = '', ...selectors] = argv.map(String);
  return {
    service,
    selectors,
    all: flags.all,
    dryRun: flags['dry-run'],
    by: whoAmI(process.env),
    ...(flags.reason !== undefined && { reason: flags.reason }),
    signal,
  };
}

export function followWithin(flags: { timeout: string }): number {
  return parseTimeout(flags.timeout, '--timeout');
}

const columns: ReadonlyArray<Column<OperationInstance>> = [
  { title: 'ADDRESS', value: (row) => row.address },
  {
    title: 'STATE',
    value: (row) => row.state,
    paint: (row, style) => ({ up: style.green, paused: style.yellow, gone: style.dim })[row.state],
  },
  { title: 'STRATEGY', value: (row) => row.strategy, dropOrder: 2 },
  { title: 'WAITED', value: (row) => formatDuration(row.waitedMs), align: 'right', dropOrder: 1 },
  { title: 'CONDITION', value: (row) => row.condition },
];

export function steeringOutcome({ error, cleaned: _told, ...document }: OperationResult): Outcome {
  return {
    document,
    rows: document.instances,
    addresses: document.instances.map((instance) => instance.address),
    text: (view) => table(columns, document.instances, view),
    ...(error && { error }),
  };
}

/** Null: a Ctrl-C came before anything was written. @throws whatever else `run` throws */
export async function unlessCalledOff(
  run: Promise<OperationResult>,
  signal: AbortSignal,
): Promise<OperationResult | null> {
  try {
    return await run;
  } catch (error) {
    if (signal.aborted && isLbctlError(error, 'TIMEOUT')) return null;
    throw error;
  }
}

/** How far it came until a Ctrl-C, which is no failure; `undo` takes back what was written. */
export function interruptedOutcome(
  result: OperationResult,
  undo: 'pause' | 'resume',
  { exitCode, tell }: { readonly exitCode: number; readonly tell: (line: string) => void },
): Outcome {
  const written = result.instances.filter(({ changed }) => changed).map(({ address }) => address);
  if (written.length > 0)
    tell(`Interrupted; what was written stands: lbctl ${undo} ${result.service} ${written.join(' ')}`);
  const { error: _calledOff, ...outcome } = steeringOutcome(result);
  return { ...outcome, exitCode };
}

/** On what the strategies of a plan rest. */
export function strategyRemarks(instances: readonly OperationInstance[]): readonly string[] {
  const reasons = new Map<string, string[]>();
  for (const { address, strategy, why } of instances) {
    if (why === '' || strategy === 'managed') continue;
    const line = `strategy ${strategy}: ${why}`;
    reasons.set(line, [...(reasons.get(line) ?? []), address]);
  }
  return [...reasons].map(([line, addresses]) => `${addresses.join(', ')}: ${line}.`);
}

/** What was tidied up beside what was asked for. */
export function cleanedRemarks({ cleaned, service }: OperationResult): readonly string[] {
  return cleaned.map((address) => `Removed the record of a pause: ${address} of ${service} is gone for good.`);
}

/** Who does it, for others to see: `ann@build-7`. A container may run as a user without a name. */
export function whoAmI(env: Readonly<Record<string, string | undefined>>): string {
  let name = env.USER || env.LOGNAME || '';
  try {
    name = userInfo().username;
  } catch {
    // No entry for this uid: what the environment says has to do.
  }
  return `${name || 'unknown'}@${hostname()}`;
}
