import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { exitCodeOf } from '../../src/cli/exit-codes.js';

interface Flag {
  readonly char?: string;
  readonly type: string;
  readonly options?: readonly string[];
  readonly default?: unknown;
  readonly multiple?: boolean;
  readonly required?: boolean;
  readonly allowNo?: boolean;
}

interface Verb {
  readonly args: Readonly<Record<string, { required?: boolean; options?: readonly string[] }>>;
  readonly flags: Readonly<Record<string, Flag>>;
  readonly aliases: readonly string[];
}

/** One line an argument or flag: a change of what scripts rely on is a changed line in the diff. */
function surfaceOf(verbs: Readonly<Record<string, Verb>>): string {
  const lines: string[] = [];
  for (const [name, verb] of sorted(verbs)) {
    lines.push([name, ...verb.aliases.map((alias) => `(also ${alias})`)].join(' '));
    for (const [arg, { required, options }] of Object.entries(verb.args)) {
      lines.push(
        `  ${required ? arg.toUpperCase() : `[${arg.toUpperCase()}]`}${options ? ` ${options.join('|')}` : ''}`,
      );
    }
    for (const [flag, spec] of sorted(verb.flags)) lines.push(`  ${flagLine(flag, spec)}`);
    lines.push('');
  }
  lines.push('exit codes');
  for (const [code, exit] of Object.entries(exitCodeOf)) lines.push(`  ${String(exit).padStart(3)} ${code}`);
  return `${lines.join('\n')}\n`;
}

function flagLine(name: string, flag: Flag): string {
  const words = [flag.char ? `-${flag.char}, --${name}` : `--${flag.allowNo ? '[no-]' : ''}${name}`];
  if (flag.type === 'option') words.push(flag.options ? flag.options.join('|') : 'VALUE');
  if (flag.multiple) words.push('(repeatable)');
  if (flag.required) words.push('(required)');
  if (flag.default !== undefined && flag.default !== false) words.push(`= ${JSON.stringify(flag.default)}`);
  return words.join(' ');
}

function sorted<T>(record: Readonly<Record<string, T>>): Array<[string, T]> {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
}

test('verbs, flags and exit codes change only on purpose', async () => {
  const manifest = JSON.parse(readFileSync(new URL('../../oclif.manifest.json', import.meta.url), 'utf8'));
  await expect(surfaceOf(manifest.commands)).toMatchFileSnapshot('surface.txt');
});
