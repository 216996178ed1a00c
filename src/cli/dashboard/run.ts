import { sleep, systemClock } from '../../core/model/clock.js';
import { longestTimerMs } from '../../core/model/duration.js';
import { sanitise } from '../../core/model/sanitise.js';
import type { DashboardOptions } from '../../ui/dashboard/options.js';
import type { Outcome, View } from '../base-command.js';
import type { ConnectionFlagValues, OutputFormat } from '../flags.js';
import type { Lifetime } from '../lifetime.js';
import type { Keyboard } from '../output/keyboard.js';
import { ownName } from '../own-name.js';
import { dashboardActions } from './actions.js';
import { type EndingSource, openSource, type Surroundings } from './open.js';
import { endOf, printFrames } from './plain.js';
import type { DashboardInput, DashboardRequest } from './request.js';
import { frameText } from './text.js';

export interface DashboardContext extends Surroundings {
  readonly lifetime: Lifetime;
  readonly format: OutputFormat;
  readonly view: View;
  print(text: string): void;
}

export interface LiveContext extends DashboardContext {
  /** As they were given: the commands that are shown repeat them. */
  readonly flags: ConnectionFlagValues;
}

/** The dashboard without a screen. @returns a document, or the exit code after it printed as it went. */
export async function runPlain(request: DashboardRequest, context: DashboardContext): Promise<Outcome | number> {
  const { lifetime, format, view, print } = context;
  const { signal } = lifetime;
  const { intervalMs, durationMs } = request;
  const source = await openFor(request, context);
  try {
    if (format === 'json') {
      // One sampling period: before that there are no rates.
      const isWhole = source.isRecorded === true && durationMs === null;
      if (isWhole) source.hurry?.();
      await sleep(systemClock, longestTimerMs, endOf(source, isWhole ? null : (durationMs ?? intervalMs), signal));
      const frame = source.frame();
      return { document: frame, text: (wide) => frameText(frame, wide) };
    }
    await printFrames(source, { intervalMs, durationMs, isNdjson: format === 'ndjson', view, signal, print });
    return lifetime.exitCode;
  } finally {
    await source.close();
  }
}

/** The dashboard on a terminal. ink is loaded here. @returns the exit code. @throws what opening the source throws. */
export async function runLive(
  request: DashboardRequest,
  context: LiveContext,
  { stream, close }: Keyboard,
): Promise<number> {
  const { lifetime, print, flags } = context;
  const { showDashboard } = await import('../../ui/dashboard/show.js');
  // The terminal is given back first, whatever ends it.
  lifetime.finishByItself();
  let source: EndingSource | null = null;
  const needsEtcd = request.input.kind !== 'replay' && request.input.service !== null;
  const settings = needsEtcd ? await context.settings() : null;
  const opening = openingOf(request.input, settings?.endpoints ?? []);
  const actions = dashboardActions({
    service: () => source?.frame().service ?? opening.service,
    endpoints: settings?.endpoints ?? [],
    flags,
    program: ownName(),
    connect: request.write ? context.connection : null,
    lifetime,
  });
  const over = new AbortController();
  const { durationMs } = request;
  const timer = durationMs === null ? null : systemClock.timer(durationMs, () => over.abort());
  try {
    const end = await showDashboard({
      open: async () => {
        source = await openFor(request, context);
        return source;
      },
      opening,
      actions,
      intervalMs: request.intervalMs,
      hints: [],
      stdin: stream,
      stdout: process.stdout,
      signal: AbortSignal.any([lifetime.signal, over.signal]),
    });
    if (end.how === 'interrupted' && lifetime.interruption === null) lifetime.interrupt('SIGINT');
    for (const command of end.commands) print(`${sanitise(command)}\n`);
    return lifetime.exitCode;
  } finally {
    timer?.cancel();
    close();
    await (source as EndingSource | null)?.close();
  }
}

async function openFor(request: DashboardRequest, context: DashboardContext): Promise<EndingSource> {
  const source = await openSource(request, context);
  context.lifetime.defer(() => source.close());
  return source;
}

/** What is known before anything was opened. */
function openingOf(input: DashboardInput, endpoints: readonly string[]): DashboardOptions['opening'] {
  if (input.kind === 'replay') return { service: '', context: input.file, source: 'probe', isReplay: true };
  const inputs = input.kind === 'log' ? input.files : [];
  return {
    service: input.service ?? '',
    context: [...endpoints, ...inputs].join(','),
    source: input.kind,
    isReplay: false,
  };
}
