import * as Flags from '@oclif/core/flags';
import { parseTimeout } from '../../core/model/duration.js';
import { LbctlError } from '../../core/model/errors.js';
import type { DrainRequest } from '../../core/operations/drain/request.js';
import { whoAmI } from '../steering/steering.js';

/** What `drain` and `roll` have in common. */
export const drainFlags = {
  'until-idle': Flags.boolean({
    summary: 'Wait until this host has no established connection on the port of the instance.',
  }),
  grace: Flags.string({
    summary: 'Wait until it has been out of rotation for this long.',
    helpValue: 'DURATION',
    default: '0',
  }),
  timeout: Flags.string({
    summary: 'How long each wait may take: for what is asked above, and for CMD to bring it back healthy.',
    helpValue: 'DURATION',
    default: '60s',
  }),
  health: Flags.string({
    summary: 'What must succeed before it is resumed: tcp, grpc, tcp://…, grpc://…/service, http://…',
    helpValue: 'CHECK',
    default: 'tcp',
  }),
  'on-failure': Flags.option({
    summary: 'What becomes of an instance that is out when something fails, a Ctrl-C included.',
    options: ['keep', 'resume'] as const,
    default: 'keep' as const,
  })(),
  'kill-after': Flags.string({
    summary: 'From the signal that ends CMD to SIGKILL.',
    helpValue: 'DURATION',
    default: '10s',
  }),
  'min-available': Flags.integer({
    summary: 'Refuse when fewer would stay up; 0 lets the last one go.',
    min: 0,
    default: 1,
  }),
  reason: Flags.string({ summary: 'Why, for others to see.', helpValue: 'TEXT', default: '' }),
  'dry-run': Flags.boolean({ summary: 'Show what would be done, and do nothing.' }),
};

interface DrainFlagValues {
  readonly 'until-idle': boolean;
  readonly grace: string;
  readonly timeout: string;
  readonly health: string;
  readonly 'on-failure': 'keep' | 'resume';
  readonly 'min-available': number;
  readonly reason: string;
  readonly 'dry-run': boolean;
}

export function drainRequest(
  flags: DrainFlagValues,
  signal: AbortSignal,
): Omit<DrainRequest, 'service' | 'selectors' | 'command' | 'verb'> {
  return {
    by: whoAmI(process.env),
    reason: flags.reason,
    minAvailable: flags['min-available'],
    waitMs: parseTimeout(flags.timeout, '--timeout'),
    untilIdle: flags['until-idle'],
    graceMs: parseTimeout(flags.grace, '--grace'),
    health: flags.health,
    onFailure: flags['on-failure'],
    dryRun: flags['dry-run'],
    signal,
  };
}

/** What stands before `--`, and the command behind it; null without `--`. @throws USAGE for a `--` at the end. */
export function splitCommand(verb: string, argv: readonly string[]): { own: string[]; command: string[] | null } {
  const end = argv.indexOf('--');
  if (end < 0) return { own: [...argv], command: null };
  const command = argv.slice(end + 1);
  if (!command[0])
    throw new LbctlError('USAGE', 'A command is missing after --', { suggestions: [`lbctl ${verb} --help`] });
  return { own: argv.slice(0, end), command };
}
