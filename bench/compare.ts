import { spawnSync } from 'node:child_process';

/** A command that is timed as a whole process, from spawn to exit. */
export interface Contender {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

/** Runs all contenders in turn, `rounds` times after one warm-up round: what slows the machine slows them all. */
export function timeProcesses(contenders: readonly Contender[], rounds: number): Map<string, number[]> {
  const times = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const { name, command, args, env } of contenders) {
      const start = process.hrtime.bigint();
      const done = spawnSync(command, args, {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
        maxBuffer: 1 << 28,
      });
      const ms = Number(process.hrtime.bigint() - start) / 1e6;
      if (done.status !== 0) throw new Error(`${name} ended with ${done.status}: ${done.stderr}`);
      if (round >= 0) times.get(name)?.push(ms);
    }
  }
  return times;
}

/** Median milliseconds of each, and the ratio to the first. */
export function printRatios(title: string, times: Map<string, number[]>, base: string): void {
  const baseMs = median(times.get(base) ?? []);
  console.log(`\n${title}`);
  for (const [name, values] of times) {
    const ms = median(values);
    console.log(`  ${name.padEnd(44)} ${ms.toFixed(0).padStart(6)} ms   ${(ms / baseMs).toFixed(2)} x ${base}`);
  }
}
