/**
 * The dashboard's screen: what it costs while it is open, and how long until its first frame beside `node -e 0`.
 * Both in a real terminal (tmux) of 200 x 50; after `npm run build`:
 * npx tsx bench/dashboard.ts [--instances 500] [--hz 10] [--seconds 600] [--rounds 15] [--verb 'dashboard greeter.rpc']
 */
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildDashboard } from '../test/support/built-dashboard.js';
import { Tmux } from '../test/support/tmux.js';
import { until } from '../test/support/until.js';
import { median } from './compare.js';

const { values } = parseArgs({
  options: {
    instances: { type: 'string', default: '500' },
    hz: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '600' },
    rounds: { type: 'string', default: '15' },
    verb: { type: 'string' },
  },
});

const root = fileURLToPath(new URL('..', import.meta.url));
const { program, folder, remove } = await buildDashboard();
const node = process.execPath;
const tmux = await Tmux.start(200, 50, { NODE_ENV: 'production' });
try {
  await firstFrame(Number(values.rounds));
  await open(Number(values.seconds));
} finally {
  await tmux.close();
  remove();
}

/** In one run, in turn: what slows the machine slows both. */
async function firstFrame(rounds: number): Promise<void> {
  const contenders = [
    { name: 'node -e 0', command: `${node} -e 0`, mark: 'node-ended' },
    { name: 'the screen alone', command: `${node} ${program}`, mark: 'greeter.rpc' },
    ...(values.verb === undefined
      ? []
      : [{ name: `lbctl ${values.verb}`, command: `${node} ${root}bin/run.js ${values.verb}`, mark: 'opening' }]),
  ];
  const took = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  const log = path.join(folder, 'bytes');
  for (let round = -1; round < rounds; round++) {
    for (const { name, command, mark } of contenders) {
      // The bytes that reach the terminal, the moment they do: a screen would have to be asked again and again.
      await tmux.pipe(`cat > ${log}`);
      await when(log, '');
      await tmux.type(`printf node-; printf begins; ${command}; printf node-; printf ended`);
      const startedAt = await when(log, 'node-begins');
      const shownAt = await when(log, mark);
      if (round >= 0) took.get(name)?.push(shownAt - startedAt);
      if (mark !== 'node-ended') await tmux.keys('q');
      await when(log, 'node-ended');
      await tmux.pipe();
      rmSync(log);
    }
  }
  const base = median(took.get('node -e 0') ?? []);
  console.log('\nUntil the first frame');
  for (const [name, all] of took) {
    console.log(
      `  ${name.padEnd(44)} ${median(all).toFixed(0).padStart(6)} ms   ${(median(all) / base).toFixed(2)} x node -e 0`,
    );
  }
}

async function when(file: string, mark: string): Promise<number> {
  await until(() => readFileSync(file, 'latin1').includes(mark), 20_000, `"${mark}" in the terminal`);
  return performance.now();
}

async function open(seconds: number): Promise<void> {
  const { instances, hz } = values;
  console.log(`\n${instances} instances at ${hz} Hz for ${seconds} s`);
  await tmux.type(
    `clear; ${node} --expose-gc ${program} --instances ${instances} --interval ${1000 / Number(hz)} --measure ${seconds}`,
  );
  const text = await tmux.wait((shown) => shown.includes('cost: '), 'the end', (seconds + 60) * 1000);
  const { cores, heapMb, rssMb } = JSON.parse(/cost: (\{.*\})/.exec(text)?.[1] ?? '{}');
  const growth = ([before, after]: number[]) => `${before?.toFixed(1)} MB -> ${after?.toFixed(1)} MB`;
  console.log(`  CPU   ${(cores * 100).toFixed(1)} % of a core`);
  console.log(`  heap  ${growth(heapMb)}`);
  console.log(`  RSS   ${growth(rssMb)}`);
}
