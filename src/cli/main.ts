import { readFileSync } from 'node:fs';
import type { LoadVerb } from './dispatch.js';
import { endProcess } from './end-process.js';
import { asksForJson, renderError, toLbctlError } from './errors.js';
import { exitCodeOf } from './exit-codes.js';
import { lifetime } from './lifetime.js';

/** The way in for bin/run.js and bin/dev.js: runs the verb that the arguments name, and ends the process. */
export async function main(binUrl: string, options: { loadVerb?: LoadVerb } = {}): Promise<void> {
  const argv = process.argv.slice(2);
  watchStreams();
  if (argv.length === 1 && (argv[0] === '--version' || argv[0] === '-v')) {
    process.stdout.write(`${versionLine(binUrl)}\n`);
    return;
  }
  lifetime.attach();
  const code = await run(argv, binUrl, options.loadVerb);
  await lifetime.close();
  await written(process.stdout);
  await endProcess(lifetime.isExiting ? lifetime.exitCode : code);
}

async function run(argv: string[], binUrl: string, loadVerb: LoadVerb | undefined): Promise<number> {
  try {
    const { dispatch } = await import('./dispatch.js');
    return await dispatch(argv, binUrl, loadVerb);
  } catch (thrown) {
    if (lifetime.isExiting) return lifetime.exitCode;
    const verb = argv[0]?.startsWith('-') ? undefined : argv[0];
    const error = toLbctlError(thrown, verb);
    const debug = Boolean(process.env.LBCTL_DEBUG);
    process.stderr.write(renderError(error, { json: asksForJson(argv), debug }));
    return exitCodeOf[error.code];
  }
}

/** Answered without loading oclif, which takes as long to load as Node itself. */
function versionLine(binUrl: string): string {
  const { name, version } = JSON.parse(readFileSync(new URL('../package.json', binUrl), 'utf8'));
  return `${name}/${version} ${process.platform}-${process.arch} node-${process.version}`;
}

/** Before oclif, which would swallow EPIPE and leave `watch | head -1` running for ever. */
function watchStreams(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return lifetime.interrupt('EPIPE');
    process.stderr.write(`Error: Cannot write to stdout: ${error.message}\n`);
    process.exit(exitCodeOf.INTERNAL);
  });
  // Nobody reads our complaints any more: that is no reason to stop what we do.
  process.stderr.on('error', () => {});
}

function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    // A write that failed tells so in the next tick: the exit code must not be faster.
    if (!stream.writable) setImmediate(resolve);
    else stream.write('', () => resolve());
  });
}
