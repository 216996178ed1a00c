import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';

const version = 'v1.10.3';
const sources = path.join(import.meta.dirname, 'gozero');
const folder = path.join(import.meta.dirname, '..', '.cache', 'bench-gozero');

/** Nanoseconds of each of go-zero's benchmarks in bench/gozero, by name; null where there is no Go. */
export function benchmarkGoZero(benchTime = '300ms'): Map<string, number> | null {
  if (spawnSync('go', ['version']).status !== 0) return null;
  const copy = path.join(folder, 'go-zero');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(path.join(folder, 'go.mod'))) go(folder, 'mod', 'init', 'bench');
  if (!existsSync(copy)) {
    go(folder, 'get', `github.com/zeromicro/go-zero@${version}`);
    const dir = go(folder, 'list', '-m', '-f', '{{.Dir}}', 'github.com/zeromicro/go-zero').trim();
    cpSync(dir, `${copy}.new`, { recursive: true });
    spawnSync('chmod', ['-R', 'u+w', `${copy}.new`]);
    spawnSync('mv', [`${copy}.new`, copy]);
  }
  // The picker is internal to its package: the benchmark has to stand beside it.
  const internal = './zrpc/internal/balancer/p2c';
  cpSync(path.join(sources, 'picker_test.go'), path.join(copy, internal, 'lbctl_bench_test.go'));
  rmSync(path.join(copy, 'core/hash/lbctl_bench_test.go'), { force: true });
  cpSync(path.join(sources, 'ring_test.go'), path.join(copy, 'core/hash/lbctl_bench_test.go'));
  const report = go(
    copy,
    'test',
    '-run',
    '^$',
    '-bench',
    'PickAndDone|Ring',
    '-benchtime',
    benchTime,
    internal,
    './core/hash',
  );
  const lines = report.matchAll(/^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns\/op/gm);
  return new Map([...lines].map(([, name, ns]) => [name ?? '', Number(ns)]));
}

function go(cwd: string, ...args: string[]): string {
  const done = spawnSync('go', args, { cwd, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`go ${args.join(' ')} failed: ${done.stderr}${done.stdout}`);
  return done.stdout;
}
