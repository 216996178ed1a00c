// What the npm scripts share: say what is done, run it, stop with its output when it fails.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs a step with its name on stderr and its output shown; throws when it fails. */
export function step(name, command, args, options = {}) {
  process.stderr.write(`» ${name}\n`);
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit', ...options });
  if (done.error) throw new Error(`${name}: ${command} could not be started: ${done.error.message}`);
  if (done.status !== 0) throw new Error(`${name}: ${command} ended with ${done.status ?? done.signal}`);
}

/** The same, quiet: the output is shown only when the step fails. */
export function quietStep(name, command, args, options = {}) {
  process.stderr.write(`» ${name}\n`);
  const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28, ...options });
  if (done.error) throw new Error(`${name}: ${command} could not be started: ${done.error.message}`);
  if (done.status !== 0) {
    process.stderr.write(`${done.stdout ?? ''}${done.stderr ?? ''}`);
    throw new Error(`${name}: ${command} ended with ${done.status ?? done.signal}`);
  }
  return done.stdout;
}

/** Runs the body of a script: an error is one line and exit 1, not a stack. */
export async function main(body) {
  try {
    await body();
  } catch (error) {
    process.stderr.write(`✗ ${error.message}\n`);
    process.exit(1);
  }
}

/** Installs the locked dependencies unless node_modules already matches the lock file. */
export function ensureInstalled() {
  const installed = mtime('node_modules/.package-lock.json');
  if (installed >= mtime('package-lock.json') && installed >= mtime('package.json')) return;
  // Without NODE_ENV: the build needs the development dependencies.
  step('install dependencies (npm ci)', 'npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    env: { ...process.env, NODE_ENV: '' },
    stdio: ['ignore', process.stderr, process.stderr],
  });
}

/** Builds dist/ unless it is newer than everything it is made of. */
export function ensureBuilt() {
  const built = mtime('dist/.built');
  const newest = Math.max(
    ...['src', 'scripts/build.mjs', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.types.json'].map(
      newestIn,
    ),
  );
  if (built > newest) return;
  step('build', process.execPath, ['scripts/build.mjs'], { stdio: ['ignore', process.stderr, process.stderr] });
}

function newestIn(name) {
  const file = path.join(root, name);
  const stat = statSync(file, { throwIfNoEntry: false });
  if (!stat?.isDirectory()) return stat?.mtimeMs ?? 0;
  return Math.max(stat.mtimeMs, ...readdirSync(file).map((entry) => newestIn(path.join(name, entry))));
}

function mtime(name) {
  return statSync(path.join(root, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** The full path of a program on PATH, or undefined. */
export function which(name) {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  return folders.map((folder) => path.join(folder, name)).find((file) => existsSync(file));
}
