import { sleep, systemClock } from '../../core/model/clock.js';
import type { Outcome, View } from '../base-command.js';
import type { OutputFormat } from '../flags.js';
import type { Lifetime } from '../lifetime.js';
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

/** The dashboard without a screen. @returns a document, or the exit code after it printed as it went. */
export async function runPlain(request: DashboardRequest, context: DashboardContext): Promise<Outcome | number> {
  const { lifetime, format, view, print } = context;
  const { signal } = lifetime;
  const { intervalMs, durationMs } = request;
  const source = await openFor(request, context);
  try {
    if (format === 'json') {
      // One sampling period: before that there are no rates.
      await sleep(systemClock, 2 ** 31 - 1, endOf(source, durationMs ?? intervalMs, signal));
      const frame = source.frame();
      return { document: frame, text: (wide) => frameText(frame, wide) };
    }
    await printFrames(source, { intervalMs, durationMs, isNdjson: format === 'ndjson', view, signal, print });
    return lifetime.exitCode;
  } finally {
    await source.close();
  }
}

async function openFor({ input }: DashboardRequest, context: DashboardContext): Promise<EndingSource> {
  const source = await openSource(input, context);
  context.lifetime.defer(() => source.close());
  return source;
}

/** What is known before anything was opened. */
export function openingOf(input: DashboardInput): {
  readonly service: string;
  readonly context: string;
  readonly source: 'probe' | 'observers' | 'log';
} {
  if (input.kind === 'replay') return { service: '', context: input.file, source: 'probe' };
  return {
    service: input.service ?? '',
    context: input.kind === 'log' ? input.files.join(',') : '',
    source: input.kind,
  };
}
