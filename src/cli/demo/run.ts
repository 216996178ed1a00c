import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { formatDuration } from '../../core/model/duration.js';
import { LbctlError } from '../../core/model/errors.js';
import type { TrafficRow } from '../../core/model/traffic.js';
import { trafficColumns } from '../../ui/traffic-columns.js';
import type { Outcome } from '../base-command.js';
import type { Lifetime } from '../lifetime.js';
import { type Column, table } from '../output/table.js';
import { demoService, startDemo } from './session.js';

export interface DemoRequest {
  readonly listen: string | undefined;
  /** Absent: until it is stopped on a terminal, `unattendedMs` elsewhere. */
  readonly durationMs: number | undefined;
  readonly version: string;
  /** Draw a live table: stdout and stdin are a terminal that can. */
  readonly live: boolean;
  readonly lifetime: Lifetime;
  readonly tell: (line: string) => void;
}

const unattendedMs = 10_000;

/** The order of the columns is their importance. */
const columns: ReadonlyArray<Column<TrafficRow>> = trafficColumns.map(({ title, value }, index) => ({
  title,
  value,
  ...(index > 0 ? { dropOrder: index } : {}),
}));

/** Runs the demo to its end; the outcome is what the traffic met. */
export async function runDemo(request: DemoRequest): Promise<Outcome> {
  const { lifetime, tell } = request;
  const session = await startDemo(request.listen, request.version);
  lifetime.defer(() => session.close());
  const flag = session.endpoint === 'http://127.0.0.1:2379' ? '' : ` --endpoints ${session.endpoint}`;
  const self = ownName(process.argv[1] ?? '');
  const hints = [
    'In another terminal:',
    `  ${self} list ${demoService}${flag}`,
    `  ${self} watch ${demoService}${flag}`,
    `  ${self} pause ${demoService} ${session.view().rows[0]?.address}${flag} --for 15s`,
    `  ${self} pick ${demoService} --key user:42${flag}`,
  ];
  const { durationMs } = request;
  const ended = new AbortController();
  const limitMs = durationMs ?? (request.live ? undefined : unattendedMs);
  const limit = limitMs === undefined ? undefined : setTimeout(() => ended.abort(), limitMs);
  const signal = AbortSignal.any([ended.signal, lifetime.signal]);
  try {
    if (request.live) {
      tell('An etcd API in memory, five instances (one slow, one failing), 100 calls a second. q ends it.');
      const { showLive } = await import('../../ui/live.js');
      const how = await showLive({
        view: session.view,
        hints: [...hints, '  q quits'],
        stdout: process.stdout,
        signal,
      });
      if (how === 'interrupted') lifetime.interrupt('SIGINT');
    } else {
      tell(`An etcd API in memory at ${session.endpoint}, five instances (one slow, one failing), 100 calls a second.`);
      for (const hint of hints) tell(hint);
      tell(`Running for ${formatDuration(limitMs ?? 0)}…`);
      await delay(2 ** 31 - 1, undefined, { signal }).catch(() => {});
    }
  } finally {
    clearTimeout(limit);
  }
  const view = session.view();
  await session.close();
  return { document: view, text: ({ style, width }) => table(columns, view.rows, { style, width }) };
}

/** How this program was called, so that the same works again: a clone has no `lbctl` on the PATH. */
function ownName(script: string): string {
  return path.basename(script) === 'run.js' ? `node ${path.relative(process.cwd(), script)}` : 'lbctl';
}

/** @throws USAGE when the demo could never show anything. */
export function checkDuration(durationMs: number): number {
  if (durationMs > 0 && durationMs < 2 ** 31) return durationMs;
  throw new LbctlError('USAGE', 'The demo needs a --duration above 0 and below 24 days', {
    suggestions: ['lbctl demo --duration 10s'],
  });
}
