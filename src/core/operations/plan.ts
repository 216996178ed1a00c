import { LbctlError } from '../model/errors.js';
import type { Instance, Strategy } from '../model/instance.js';
import { type Minimum, minimumText, neededOf } from './minimum.js';
import { recordedPause } from './recorded-pause.js';
import type { Target } from './select.js';
import { type Chosen, chooseStrategy, type StrategyChoice } from './strategy.js';

/** What is to be done about one address. */
export interface Step {
  readonly address: string;
  /** `pause`, `resume`: write. `wait`: it was asked for before and the owner has not followed yet. `none`: already so. */
  readonly action: 'pause' | 'resume' | 'wait' | 'none';
  readonly strategy: Strategy;
  /** For people: why this strategy; empty when nothing was to be chosen. */
  readonly why: string;
  readonly instances: readonly Instance[];
  /** For people: what is so now. */
  readonly condition: string;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** Instances that stay up and that the guard counts on. */
  readonly countedOn: readonly Instance[];
}

export interface PausePolicy {
  readonly strategy: StrategyChoice;
  readonly minAvailable: Minimum;
  /** Addresses that answered a probe; null: nobody asked, all that are up count. */
  readonly answering: ReadonlySet<string> | null;
}

/**
 * What pausing these targets takes, given all instances of the service. Pure.
 * @throws NOT_MANAGED when one cannot be taken out as asked, GUARD_REFUSED when too few would stay up.
 */
export function planPause(
  service: string,
  instances: readonly Instance[],
  targets: readonly Target[],
  policy: PausePolicy,
): Plan {
  const steps = targets.map((target) => pauseStep(service, target, policy.strategy));
  const leaving = new Set(steps.filter((step) => step.action !== 'none').map((step) => step.address));
  const { all, up } = fleetOf(instances);
  const staying = up.filter(({ address, pause }) => !leaving.has(address) && (pause === null || pause.cameBack));
  const counted = staying.filter(({ address }) => policy.answering?.has(address) ?? true);
  const needed = neededOf(policy.minAvailable, all.length);
  const takesOut = up.some((instance) => leaving.has(instance.address));
  if (takesOut && counted.length < needed) {
    const silent = staying.length - counted.length;
    const answer = silent > 0 ? ` (${silent} more are registered and do not answer)` : '';
    const going = [...leaving].join(', ');
    throw new LbctlError(
      'GUARD_REFUSED',
      `--min-available ${minimumText(policy.minAvailable, all.length)} of ${service}: of ${up.length} up ${counted.length} would ` +
        `be left without ${going}${answer}; ${needed} must stay`,
      {
        suggestions: [
          `lbctl list ${service} shows which are out; resume or add one first.`,
          ...(needed > 0 ? ['--min-available 0 takes out even the last one.'] : []),
        ],
      },
    );
  }
  return { steps, countedOn: takesOut ? counted.slice(0, needed) : [] };
}

function pauseStep(service: string, { address, instances }: Target, asked: StrategyChoice): Step {
  const up = instances.filter(isUp);
  const pause = recordedPause(instances);
  if (pause && up.length > 0 && !up.some((instance) => instance.pause?.cameBack)) {
    const { strategy } = pause;
    return { address, action: 'wait', strategy, why: '', instances, condition: 'asked before, not followed yet' };
  }
  if (pause && up.length === 0) {
    const gone = instances.every((instance) => instance.notes.includes('OWNER-GONE'));
    const condition = gone ? 'already paused, its owner is gone' : `already paused by ${pause.by || 'somebody'}`;
    return { address, action: 'none', strategy: pause.strategy, why: '', instances, condition };
  }
  const { strategy, why } = oneStrategy(service, address, up, asked);
  const condition = pause ? 'came back' : up.length > 0 ? 'up' : (instances[0]?.pause?.reason ?? 'resuming');
  return { address, action: 'pause', strategy, why, instances, condition };
}

/** All keys of an address go the same way: a pause has one record, and one way back. */
function oneStrategy(service: string, address: string, up: readonly Instance[], asked: StrategyChoice): Chosen {
  const chosen = up.map((instance) => chooseStrategy(instance, asked));
  const [first = { strategy: 'managed', why: '' } as const] = chosen;
  if (chosen.every(({ strategy }) => strategy === first.strategy)) return first;
  const ways = up.map(({ key }, index) => `${key} by ${chosen[index]?.strategy}`).join(', ');
  throw new LbctlError(
    'NOT_MANAGED',
    `${address} of ${service} has registrations that are taken out in two ways: ${ways}`,
    {
      suggestions: ['End one of them, or choose a --strategy that fits both.'],
    },
  );
}

/** @throws CHECK_FAILED when an instance was taken out by its own process, which no record can bring back. */
export function planResume(service: string, targets: readonly Target[]): Plan {
  const steps = targets.map(({ address, instances }): Step => {
    const pause = recordedPause(instances);
    if (pause) {
      const gone = instances.every((instance) => instance.notes.includes('OWNER-GONE'));
      const condition = gone ? 'paused, its owner is gone' : instances.some(isUp) ? 'came back before' : 'paused';
      return { address, action: 'resume', strategy: pause.strategy, why: '', instances, condition };
    }
    const asItIs = { address, strategy: 'managed', why: '', instances } as const;
    if (instances.some(isUp)) return { ...asItIs, action: 'none', condition: 'already up' };
    const withdrawn = instances.find((instance) => instance.pause !== null);
    if (withdrawn?.pause) {
      throw new LbctlError(
        'CHECK_FAILED',
        `${address} of ${service} was taken out by its own process: ${withdrawn.pause.reason}`,
        { suggestions: ['It comes back by itself once its process finds it healthy.'] },
      );
    }
    return { ...asItIs, action: 'wait', condition: 'resuming' };
  });
  return { steps, countedOn: [] };
}

export function isUp(instance: Instance): boolean {
  return instance.admin === 'up';
}

/** As the guard counts: addresses, of owners that live. */
export function fleetOf(instances: readonly Instance[]): {
  readonly all: readonly Instance[];
  readonly up: readonly Instance[];
} {
  const known = instances.filter(({ address, notes }) => address !== '' && !notes.includes('OWNER-GONE'));
  return { all: distinct(known), up: distinct(known.filter(isUp)) };
}

function distinct(instances: readonly Instance[]): readonly Instance[] {
  return [...new Map(instances.map((instance) => [instance.address, instance])).values()];
}
