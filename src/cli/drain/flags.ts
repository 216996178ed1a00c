import * as Flags from '@oclif/core/flags';
import { parseTimeout } from '../../core/model/duration.js';
import { LbctlError } from '../../core/model/errors.js';
import type { DrainRequest } from '../../core/operations/drain/request.js';
import { selectionFlags, whoAmI } from '../steering/steering.js';
import { takeOutDefaults, takeOutFlags, takeOutRequest } from '../steering/take-out.js';

/** What holds when no flag says otherwise. */
export const drainDefaults = {
  ...takeOutDefaults,
  'until-idle': false,
  grace: '0',
  timeout: '60s',
  health: 'tcp',
  'on-failure': 'keep',
  'dry-run': false,
} as const;

/** What `drain` and `roll` have in common. */
export const drainFlags = {
  'until-idle': Flags.boolean({
    summary: 'Wait until this host has no established connection on the port of the instance.',
  }),
  grace: Flags.string({
    summary: 'Wait until it has been out of rotation for this long.',
    helpValue: 'DURATION',
    default: drainDefaults.grace,
  }),
  timeout: Flags.string({
    summary: 'How long each wait may take: for what is asked above, and for CMD to bring it back healthy.',
    helpValue: 'DURATION',
    default: drainDefaults.timeout,
  }),
  health: Flags.string({
    summary: 'What must succeed before it is resumed: tcp, grpc, tcp://…, grpc://…/service, http://…',
    helpValue: 'CHECK',
    default: drainDefaults.health,
  }),
  'on-failure': Flags.option({
    summary: 'What becomes of an instance that is out when something fails, a Ctrl-C included.',
    options: ['keep', 'resume'] as const,
    default: drainDefaults['on-failure'],
  })(),
  'kill-after': Flags.string({
    summary: 'From the signal that ends CMD to SIGKILL.',
    helpValue: 'DURATION',
    default: '10s',
  }),
  ...takeOutFlags,
  reason: selectionFlags.reason,
  'dry-run': selectionFlags['dry-run'],
};

type DrainFlagValues = Parameters<typeof takeOutRequest>[0] & {
  readonly 'until-idle': boolean;
  readonly grace: string;
  readonly timeout: string;
  readonly health: string;
  readonly 'on-failure': 'keep' | 'resume';
  readonly reason?: string | undefined;
  readonly 'dry-run': boolean;
};

export function drainRequest(
  flags: DrainFlagValues,
  signal: AbortSignal,
): Omit<DrainRequest, 'service' | 'selectors' | 'command' | 'verb'> {
  return {
    by: whoAmI(process.env),
    reason: flags.reason ?? '',
    ...takeOutRequest(flags),
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
