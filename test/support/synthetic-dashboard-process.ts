/**
 * The dashboard with made-up figures, for real terminals: tsx test/support/synthetic-dashboard-process.ts
 * [--instances N] [--interval MS] [--write] [--crash-after MS [--catch]] [--reject-after MS] [--refuse] [--tty]
 * With --measure SECONDS it ends by itself, and says what it has cost: node --expose-gc makes memory exact.
 * Says at the end, on the terminal it gave back, how it ended.
 */
import { openSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ReadStream } from 'node:tty';
import { parseArgs } from 'node:util';
import { LbctlError } from '../../src/core/model/errors.js';
import type { ActionName, Actions } from '../../src/ui/dashboard/options.js';
import { showDashboard } from '../../src/ui/dashboard/show.js';
import { SyntheticSource } from './synthetic-dashboard.js';

const { values } = parseArgs({
  options: {
    instances: { type: 'string', default: '5' },
    interval: { type: 'string', default: '1000' },
    write: { type: 'boolean', default: false },
    refuse: { type: 'boolean', default: false },
    'crash-after': { type: 'string' },
    tty: { type: 'boolean', default: false },
    catch: { type: 'boolean', default: false },
    'reject-after': { type: 'string' },
    'exit-after': { type: 'string' },
    measure: { type: 'string' },
  },
});

const source = new SyntheticSource({ instances: Number(values.instances), notices: ['figures are made up'] });
const stateAfter = { pause: 'paused', resume: 'up', drain: 'gone' } as const;
const actions: Actions = {
  command: (action, row) => `lbctl ${action} greeter.rpc ${row.address}`,
  ...(values.write
    ? {
        run: async (action: ActionName, row) => {
          await delay(200);
          source.change(Number(row.id.slice(3)), { state: stateAfter[action] });
          return `${row.address}: ${stateAfter[action]}`;
        },
      }
    : {}),
};

// Once: what fails while it tells of a failure would tell of itself for ever.
if (values.catch) process.once('uncaughtException', (error) => process.stderr.write(`caught: ${error.message}\n`));
later(values['crash-after'], () => {
  throw new Error('a crash on purpose');
});
later(values['reject-after'], () => {
  void Promise.reject(new Error('a rejection on purpose'));
});
later(values['exit-after'], () => process.exit(7));

const ended = new AbortController();
let cost = '';
if (values.measure !== undefined) {
  const seconds = Number(values.measure);
  // What starting takes is not what staying open takes.
  const warmUpMs = Math.min(10_000, seconds * 250);
  setTimeout(() => {
    const before = { cpu: process.cpuUsage(), memory: memory(), at: performance.now() };
    setTimeout(
      () => {
        const used = process.cpuUsage(before.cpu);
        const after = memory();
        const cores = (used.user + used.system) / 1000 / (performance.now() - before.at);
        cost = JSON.stringify({
          cores,
          heapMb: [before.memory.heap, after.heap],
          rssMb: [before.memory.rss, after.rss],
        });
        ended.abort();
      },
      seconds * 1000 - warmUpMs,
    );
  }, warmUpMs);
}

function memory() {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed / 2 ** 20, rss: rss / 2 ** 20 };
}

function later(ms: string | undefined, what: () => void): void {
  if (ms !== undefined) setTimeout(what, Number(ms));
}

const keyboard = values.tty ? new ReadStream(openSync('/dev/tty', 'r')) : null;
try {
  const end = await showDashboard({
    open: async () => {
      if (values.refuse) throw new LbctlError('ETCD_UNREACHABLE', 'refused on purpose');
      return source;
    },
    opening: { service: 'greeter.rpc', context: 'made up', source: 'observers', isReplay: false },
    actions,
    intervalMs: Number(values.interval),
    hints: ['In another terminal: lbctl pause greeter.rpc'],
    stdin: keyboard ?? process.stdin,
    stdout: process.stdout,
    signal: ended.signal,
  });
  process.stdout.write(`ended: ${end.how}\n`);
  if (cost !== '') process.stdout.write(`cost: ${cost}\n`);
  for (const command of end.commands) process.stdout.write(`${command}\n`);
} catch (error) {
  process.stdout.write(`refused: ${error instanceof Error ? error.message : error}\n`);
} finally {
  keyboard?.destroy();
}
