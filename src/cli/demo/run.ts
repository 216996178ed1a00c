import { setTimeout as delay } from 'node:timers/promises';
import { formatDuration, longestTimerMs } from '../../core/model/duration.js';
import { LbctlError } from '../../core/model/errors.js';
import { sanitise } from '../../core/model/sanitise.js';
import type { Outcome } from '../base-command.js';
import { frameText } from '../dashboard/text.js';
import type { Lifetime } from '../lifetime.js';
import { ownName } from '../own-name.js';
import { type DemoSession, demoClients, demoService, startDemo } from './session.js';

export interface DemoRequest {
  readonly listen: string | undefined;
  /** Absent: until it is stopped on a terminal, `unattendedMs` elsewhere. */
  readonly durationMs: number | undefined;
  readonly version: string;
  /** Open the dashboard: stdout and stdin are a terminal that can. */
  readonly live: boolean;
  readonly lifetime: Lifetime;
  readonly tell: (line: string) => void;
}

const unattendedMs = 10_000;
const refreshMs = 1000;

/** Runs the demo to its end; the outcome is what the traffic met last. */
export async function runDemo(request: DemoRequest): Promise<Outcome> {
  const { lifetime, tell, live, durationMs } = request;
  const session = await startDemo(request.listen, { version: request.version, intervalMs: refreshMs, lifetime });
  lifetime.defer(() => session.close());
  const limitMs = durationMs ?? (live ? undefined : unattendedMs);
  const ended = new AbortController();
  const limit = limitMs === undefined ? undefined : setTimeout(() => ended.abort(), limitMs);
  const signal = AbortSignal.any([ended.signal, lifetime.signal]);
  const hints = hintsOf(session.endpoint);
  let commands: readonly string[] = [];
  try {
    if (live) commands = await showLive(session, hints, signal, lifetime);
    else {
      tell(`An etcd API in memory at ${session.endpoint}, five instances (one slow, one failing, one that comes and`);
      tell(`goes), and ${demoClients.length} clients that call them.`);
      for (const hint of hints) tell(hint);
      tell(`Running for ${formatDuration(limitMs ?? 0)}…`);
      await delay(longestTimerMs, undefined, { signal }).catch(() => {});
    }
  } finally {
    clearTimeout(limit);
  }
  const frame = session.dashboard.frame();
  await session.close();
  return {
    document: frame,
    text: async (view) =>
      `${await frameText(frame, view)}${commands.map((command) => `${sanitise(command)}\n`).join('')}`,
  };
}

async function showLive(
  session: DemoSession,
  hints: readonly string[],
  signal: AbortSignal,
  lifetime: Lifetime,
): Promise<readonly string[]> {
  const { showDashboard } = await import('../../ui/dashboard/show.js');
  const { how, commands } = await showDashboard({
    open: async () => session.dashboard,
    opening: { service: demoService, context: session.endpoint, source: 'observers', isReplay: false },
    actions: session.actions,
    intervalMs: refreshMs,
    hints,
    stdin: process.stdin,
    stdout: process.stdout,
    signal,
  });
  if (how === 'interrupted') lifetime.interrupt('SIGINT');
  return commands;
}

function hintsOf(endpoint: string): readonly string[] {
  const self = ownName();
  const flag = endpoint === 'http://127.0.0.1:2379' ? '' : ` --endpoints ${endpoint}`;
  return [
    'In another terminal:',
    `  ${self} pause ${demoService} steady${flag} --for 15s`,
    `  ${self} watch ${demoService}${flag}`,
    `  ${self} list ${demoService}${flag}`,
    `  ${self} pick ${demoService}${flag} --key user:42`,
  ];
}

/** @throws USAGE when the demo could never show anything. */
export function checkDuration(durationMs: number): number {
  if (durationMs > 0 && durationMs < 2 ** 31) return durationMs;
  throw new LbctlError('USAGE', 'The demo needs a --duration above 0 and below 24 days', {
    suggestions: ['lbctl demo --duration 10s'],
  });
}
