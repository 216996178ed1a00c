import path from 'node:path';

/** How this program was called, so that the same works again: a clone has no `lbctl` on the PATH. */
export function ownName(script = process.argv[1] ?? ''): string {
  return path.basename(script) === 'run.js' ? `node ${path.relative(process.cwd(), script)}` : 'lbctl';
}
