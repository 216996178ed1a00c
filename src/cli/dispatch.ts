import { Config } from '@oclif/core/config';
import { getHelpFlagAdditions, loadHelpClass, normalizeArgv } from '@oclif/core/help';
import { LbctlError } from '../core/model/errors.js';
import { similarNames } from '../core/model/similar.js';

/** Brings the module of a verb; for bin/dev.js, which has it from the sources instead of the last build. */
export type LoadVerb = (id: string) => Promise<{ default: { run(argv: string[], config: Config): Promise<unknown> } }>;

/**
 * What oclif's own `run` does (help, finding the verb, running it), without its exit codes: an unknown verb is a usage
 * error with the names that look alike, and the verb's result is the exit code.
 */
export async function dispatch(argv: string[], binUrl: string, loadVerb?: LoadVerb): Promise<number> {
  const config = await Config.load(binUrl);
  if (argv.length === 0 || argv[0] === 'help' || asksForHelp(argv, config)) {
    const Help = await loadHelpClass(config);
    const topic = argv[0] === 'help' ? argv.slice(1) : argv;
    await new Help(config, config.pjson.oclif.helpOptions).showHelp(topic.length === 0 ? ['--help'] : topic);
    return 0;
  }
  const [id = '', ...rest] = normalizeArgv(config, [...argv]);
  const command = config.findCommand(id);
  if (!command) throw unknownVerb(id.replaceAll(':', ' '), config);
  const code: unknown = loadVerb
    ? await (await loadVerb(id)).default.run(rest, config)
    : await config.runCommand(id, rest, command);
  return typeof code === 'number' ? code : 0;
}

function asksForHelp(argv: readonly string[], config: Config): boolean {
  const end = argv.indexOf('--');
  const flags = getHelpFlagAdditions(config);
  return (end < 0 ? argv : argv.slice(0, end)).some((argument) => flags.includes(argument));
}

function unknownVerb(id: string, config: Config): LbctlError {
  const names = config.commands.filter((command) => !command.hidden).map((command) => command.id.replaceAll(':', ' '));
  const similar = similarNames(id, names).map((name) => `Did you mean lbctl ${name}?`);
  const what = id.startsWith('-') ? `A verb comes first; "${id}" is a flag` : `There is no verb "${id}"`;
  return new LbctlError('USAGE', what, { suggestions: [...similar, 'lbctl --help'] });
}
