// Runs vitest projects and adds up what they report.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { root } from './steps.mjs';

const totals = { passed: 0, failed: 0, skipped: 0 };

/**
 * Runs vitest projects. `etcd`: the server they use; `node`: the Node that runs them and every process they start;
 * `files`: only test files whose path holds one of these.
 * A run that ends badly without a failed test (a crash, no test found) counts as one failure.
 */
export function suite(name, projects, { etcd, node = process.execPath, files = [] } = {}) {
  process.stderr.write(`» ${name}\n`);
  const folder = path.join(root, '.cache');
  mkdirSync(folder, { recursive: true });
  const report = path.join(folder, `report-${process.pid}.json`);
  rmSync(report, { force: true });
  const done = spawnSync(
    node,
    [
      path.join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      ...files,
      ...projects.flatMap((project) => ['--project', project]),
      '--reporter=default',
      '--reporter=json',
      `--outputFile=${report}`,
    ],
    {
      cwd: root,
      stdio: ['ignore', process.stderr, process.stderr],
      env: {
        ...process.env,
        ...(etcd ? { LBCTL_TEST_ETCD: etcd } : {}),
        PATH: `${path.dirname(node)}${path.delimiter}${process.env.PATH}`,
      },
    },
  );
  let counts = { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, numTodoTests: 0 };
  try {
    counts = JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    process.stderr.write(`  ${name}: vitest left no report\n`);
  }
  rmSync(report, { force: true });
  totals.passed += counts.numPassedTests;
  totals.failed += counts.numFailedTests;
  totals.skipped += counts.numPendingTests + counts.numTodoTests;
  const ok = done.status === 0;
  if (!ok && counts.numFailedTests === 0) totals.failed += 1;
  return ok;
}

/** Counts a step that is no vitest run as one test. */
export function counted(body) {
  try {
    const value = body();
    totals.passed += 1;
    return value;
  } catch (error) {
    process.stderr.write(`✗ ${error.message}\n`);
    totals.failed += 1;
    return undefined;
  }
}

/** Prints the totals as the last line and sets the exit code. */
export function finish() {
  process.stdout.write(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped\n`);
  process.exitCode = totals.failed > 0 || totals.passed === 0 ? 1 : 0;
}
