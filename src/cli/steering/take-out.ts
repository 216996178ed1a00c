import * as Flags from '@oclif/core/flags';
import { systemClock } from '../../core/model/clock.js';
import { parseTimeout } from '../../core/model/duration.js';
import { LbctlError } from '../../core/model/errors.js';
import type { Instance } from '../../core/model/instance.js';
import { parseMinimum } from '../../core/operations/minimum.js';
import { type StrategyChoice, strategyChoices } from '../../core/operations/strategy.js';

/** What holds when no flag says otherwise. */
export const takeOutDefaults = { 'min-available': '1', probe: false } as const;

/** What the verbs that take instances out have in common. */
export const takeOutFlags = {
  strategy: Flags.custom<StrategyChoice>({
    summary:
      'How to take out what lbctl did not register. [env: LBCTL_STRATEGY; default: auto, which says what it chose]',
    options: strategyChoices,
    env: 'LBCTL_STRATEGY',
    default: async () => 'auto' as const,
    parse: async (text) => strategyChoices.find((name) => name === text) ?? 'auto',
  })(),
  'min-available': Flags.string({
    summary: 'Refuse when fewer would stay up: a number, or a share of all; 0 lets the last one go.',
    helpValue: 'N|P%',
    default: takeOutDefaults['min-available'],
  }),
  probe: Flags.boolean({ summary: 'Count only instances that accept a connection as available.' }),
  verify: Flags.string({
    summary: 'Watch for so long that they stay out. [default: 3s; 0 where lbctl registered them, whose owners confirm]',
    helpValue: 'DURATION',
  }),
};

const probeMs = 1000;

/**
 * The strategy of who has no flag for it: what the environment says of all verbs.
 * @throws USAGE as they do
 */
export function standingStrategy(env: Readonly<Record<string, string | undefined>>): StrategyChoice {
  const asked = env.LBCTL_STRATEGY || 'auto';
  const known = strategyChoices.find((name) => name === asked);
  if (known) return known;
  throw new LbctlError('USAGE', `LBCTL_STRATEGY is "${asked}", and no strategy`, {
    suggestions: [`It takes one of ${strategyChoices.join(', ')}.`],
  });
}

export function takeOutRequest(flags: {
  strategy: StrategyChoice;
  'min-available': string;
  probe: boolean;
  verify?: string | undefined;
}) {
  return {
    strategy: flags.strategy,
    minAvailable: parseMinimum(flags['min-available'], '--min-available'),
    ...(flags.verify !== undefined && { verifyMs: parseTimeout(flags.verify, '--verify') }),
    ...(flags.probe && { answering: whoAnswers }),
  };
}

async function whoAnswers(instances: readonly Instance[]): Promise<ReadonlySet<string>> {
  const { probeAll } = await import('../../core/health/probe-all.js');
  const probed = await probeAll(instances, { clock: systemClock, timeoutMs: probeMs, concurrency: 64 });
  return new Set(probed.filter(({ health }) => health === 'healthy').map(({ address }) => address));
}
