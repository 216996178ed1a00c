/**
 * What the faults of docs/etcd.md on real processes (cases/) share: cleaning up after each, the checks that hold at every end,
 * and the figures, printed by each file at its end. One alone: npx vitest run --project faults -t 'hung by SIGSTOP'
 */
import { afterAll, afterEach, expect } from 'vitest';
import { etcdVersion } from '../support/etcd-process.js';
import { Figures } from './figures.js';
import { Fleet, type FleetOptions, waitFor } from './fleet.js';

export const figures = new Figures();

const cleanups: Array<() => unknown> = [];

/** Runs after the test, whatever became of it; last registered first. */
export function cleanUp(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

afterAll(async () => {
  process.stdout.write(figures.table(await etcdVersion()));
});

/** A watch, a subscriber and then three publishers; resolves when all agree. */
export async function fleet(options: FleetOptions): Promise<Fleet> {
  const started = new Fleet(options);
  cleanUp(() => started.kill());
  await waitFor('the watch to be there', 20_000, () => started.watch.lines.at(-1)?.type === 'SYNCED');
  started.publish();
  await started.settled(performance.now() + 40_000);
  return started;
}

/** An event by somebody else, which a watch has to tell of. */
export function outsider(number: number): { id: string; address: string } {
  return { id: `outsider-${number}`, address: `10.9.${number >> 8}.${number & 255}:9000` };
}

/** Nobody missed anything, nobody made anything up; with `lossless` without loading again. */
export function expectBalanced(
  live: Fleet,
  balance: ReturnType<Fleet['balance']>,
  { lossless = true }: { lossless?: boolean } = {},
): void {
  const wrong = [
    ...balance.missing.map((text) => `no line tells of ${text}`),
    ...balance.invented.map((text) => `no event was ${text}`),
    ...balance.contradictions,
    ...(lossless ? live.watch.lines.filter(({ type }) => type === 'RESYNC').map(({ cause }) => `RESYNC ${cause}`) : []),
  ];
  expect(wrong, live.report()).toEqual([]);
}

/** Everybody ends on SIGTERM by itself within 5 s, and leaves neither key nor lease. */
export async function expectGoodEnd(live: Fleet): Promise<void> {
  const ends = await live.end();
  for (const { name, code, ms, stderr } of ends) {
    expect(code, `exit code of ${name}: ${stderr}`).toBe(name === 'watch' ? 143 : 0);
    expect(ms, `${name} took this long to end`).toBeLessThan(5000);
  }
  const left = (await live.truth.keys(live.prefix)).filter(({ lease }) => lease !== 0n);
  expect(left.map(({ key }) => key)).toEqual([]);
  expect(await live.truth.leases()).toEqual([]);
}
