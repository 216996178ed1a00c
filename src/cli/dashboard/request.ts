import { parseTimeout } from '../../core/model/duration.js';
import { LbctlError } from '../../core/model/errors.js';

/** The flags of `dashboard`, as oclif hands them over. */
export interface DashboardFlags {
  readonly source?: string | undefined;
  readonly observer?: string | undefined;
  readonly log?: readonly string[] | undefined;
  readonly replay?: string | undefined;
  readonly record?: string | undefined;
  readonly interval: string;
  readonly duration?: string | undefined;
  readonly 'probe-rate'?: string | undefined;
  readonly write: boolean;
}

/** What a dashboard is to show. */
export type DashboardInput =
  | { readonly kind: 'probe'; readonly service: string; readonly callsPerSecond: number | null }
  | { readonly kind: 'observers'; readonly service: string; readonly observer: string | null }
  | {
      readonly kind: 'log';
      readonly service: string | null;
      readonly files: readonly string[];
      readonly stdin: boolean;
    }
  | { readonly kind: 'replay'; readonly file: string };

export interface DashboardRequest {
  readonly input: DashboardInput;
  readonly record: string | null;
  readonly intervalMs: number;
  readonly durationMs: number | null;
  readonly write: boolean;
}

const shortestMs = 100;
const longestMs = 60_000;
const highestProbeRate = 1000;

/** @throws USAGE for what cannot be, or not together. */
export function dashboardRequest(service: string | undefined, flags: DashboardFlags): DashboardRequest {
  return {
    input: inputOf(service, flags),
    record: flags.record ?? null,
    intervalMs: intervalOf(flags.interval),
    durationMs:
      flags.duration === undefined ? null : positive(parseTimeout(flags.duration, '--duration'), '--duration'),
    write: flags.write,
  };
}

function inputOf(service: string | undefined, flags: DashboardFlags): DashboardInput {
  const { replay, log, source, observer, record, write } = flags;
  const probeRate = flags['probe-rate'];
  const others = { '--source': source, '--observer': observer, '--probe-rate': probeRate };
  if (replay !== undefined) {
    refuse('--replay', {
      ...others,
      SERVICE: service,
      '--log': log,
      '--record': record,
      '--write': write || undefined,
    });
    return { kind: 'replay', file: replay };
  }
  if (log !== undefined) {
    refuse('--log', others);
    if (write && service === undefined)
      throw usage('--write needs a SERVICE to act on', 'lbctl dashboard SERVICE --log FILE --write');
    if (log.includes('')) throw usage('--log names no file', 'Write --log FILE, or --log - for stdin.');
    const files = [...new Set(log.filter((file) => file !== '-'))];
    return { kind: 'log', service: service ?? null, files, stdin: log.includes('-') };
  }
  if (service === undefined) throw usage('Which service?', 'lbctl list', 'lbctl dashboard --log FILE needs none.');
  if (source === 'observers' || (source === undefined && observer !== undefined)) {
    refuse('--source observers', { '--probe-rate': probeRate });
    return { kind: 'observers', service, observer: observer ?? null };
  }
  refuse('--source probe', { '--observer': observer });
  return { kind: 'probe', service, callsPerSecond: probeRate === undefined ? null : rateOf(probeRate) };
}

function refuse(with_: string, flags: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(flags)) {
    if (value !== undefined) throw usage(`${with_} and ${name} do not go together`, 'Leave one of them out.');
  }
}

function intervalOf(text: string): number {
  const ms = parseTimeout(text, '--interval');
  if (ms >= shortestMs && ms <= longestMs) return ms;
  throw usage(`--interval "${text}" is not from 100ms to 1m`, 'Write it like --interval 1s.');
}

function positive(ms: number, flag: string): number {
  if (ms > 0) return ms;
  throw usage(`${flag} is not above zero`, `Write it like ${flag} 30s.`);
}

function rateOf(text: string): number {
  const rate = Number(text);
  if (text.trim() !== '' && rate > 0 && rate <= highestProbeRate) return rate;
  throw usage(
    `--probe-rate "${text}" is not a number of calls a second above 0, at most ${highestProbeRate}`,
    '--probe-rate 5',
  );
}

function usage(message: string, ...suggestions: string[]): LbctlError {
  return new LbctlError('USAGE', message, { suggestions });
}
