import { LbctlError, messageOf } from '../core/model/errors.js';
import { sanitise, sanitiseLines } from '../core/model/sanitise.js';
import { exitCodeOf } from './exit-codes.js';
import { document, toJson } from './output/structured.js';

/** Whether the arguments before `--` ask for JSON: decided without oclif, whose own parsing may be what failed. */
export function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const own = end < 0 ? argv : argv.slice(0, end);
  return own.some((argument, index) => {
    if (argument === '--json') return true;
    const format = /^(?:-o|--output)=?(.*)$/.exec(argument)?.[1];
    return /^(nd)?json$/.test(format === '' ? (own[index + 1] ?? '') : (format ?? ''));
  });
}

/** Whatever was thrown, as an error with a stable code. */
export function toLbctlError(error: unknown, verb: string | undefined): LbctlError {
  if (error instanceof LbctlError) return error;
  if (isOclifError(error)) {
    const help = verb ? `lbctl ${verb} --help` : 'lbctl --help';
    // The note is about flags that take all that follows them: none of ours does.
    const message = messageOf(error).replace(/\n+(?:Note: --[\s\S]*|See more help with --help)$/, '');
    return new LbctlError('USAGE', message, { cause: error, suggestions: [help] });
  }
  return new LbctlError('INTERNAL', `Unexpected: ${messageOf(error)}`, {
    cause: error,
    suggestions: ['Run it again with LBCTL_DEBUG=1 for the stack, and report it.'],
  });
}

/** What stderr gets for an error: one JSON document on one line, or a message, its causes and what to do. Ends with a newline. */
export function renderError(error: LbctlError, options: { json: boolean; debug?: boolean; exitCode?: number }): string {
  if (options.json) {
    const { code, message, suggestions } = error;
    const { exitCode = exitCodeOf[code] } = options;
    // On one line, as progress before it is: whoever reads stderr line by line can parse all of it.
    return `${toJson(document({ error: { code, message, exitCode, suggestions } }), 0)}\n`;
  }
  // Only oclif's own messages have lines. In any other a line end came from etcd, and could pretend to be advice of ours.
  const lines = [isOclifError(error.cause) ? sanitiseLines(`Error: ${error.message}`) : line('Error: ', error.message)];
  for (const cause of causesOf(error)) {
    const text = messageOf(cause);
    // The message has often said it already, without the number of the status in front.
    const said = sanitise(text.replace(/^\d+ /, ''));
    if (said !== '' && !lines.some((known) => known.includes(said))) lines.push(line('Cause: ', text));
  }
  for (const suggestion of error.suggestions) lines.push(line('  → ', suggestion));
  if (options.debug) lines.push(sanitiseLines(String(error.cause instanceof Error ? error.cause.stack : error.stack)));
  return `${lines.join('\n')}\n`;
}

function line(label: string, text: string): string {
  return label + sanitise(text);
}

/** oclif answers every use that it cannot parse with a CLIError. Loading a verb that is broken is not the user's doing. */
function isOclifError(error: unknown): boolean {
  if (!(error instanceof Error) || !('oclif' in error)) return false;
  return !('code' in error && error.code === 'MODULE_NOT_FOUND');
}

function causesOf(error: Error): unknown[] {
  const causes: unknown[] = [];
  let cause: unknown = error.cause;
  while (cause !== undefined && cause !== null && causes.length < 5) {
    causes.push(cause);
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  // An oclif error is the message itself, in oclif's words with its own help line.
  return error instanceof LbctlError && error.code === 'USAGE' && isOclifError(causes[0]) ? [] : causes;
}
