import { LbctlError } from '../model/errors.js';
import type { Instance } from '../model/instance.js';
import type { Target } from './select.js';

/** What is to be done about one address. */
export interface Step {
  readonly address: string;
  /** `pause`, `resume`: write. `wait`: it was asked for before and the owner has not followed yet. `none`: already so. */
  readonly action: 'pause' | 'resume' | 'wait' | 'none';
  readonly instances: readonly Instance[];
  /** For people: what is so now. */
  readonly condition: string;
}

export interface Plan {
  readonly steps: readonly Step[];
  /** Instances that stay up and that the guard counts on. */
  readonly countedOn: readonly Instance[];
}

/**
 * What pausing these targets takes, given all instances of the service. Pure.
 * @throws NOT_MANAGED when an owner cannot be steered, GUARD_REFUSED when too few would stay up.
 */
export function planPause(
  service: string,
  instances: readonly Instance[],
  targets: readonly Target[],
  minAvailable: number,
): Plan {
  const steps = targets.map((target) => pauseStep(service, target));
  const leaving = new Set(steps.filter((step) => step.action !== 'none').map((step) => step.address));
  const up = distinct(instances.filter((instance) => instance.admin === 'up' && instance.address !== ''));
  const staying = up.filter((instance) => !leaving.has(instance.address) && instance.pause === null);
  const takesOut = up.some((instance) => leaving.has(instance.address));
  if (takesOut && staying.length < minAvailable) {
    const left = `${staying.length} of ${up.length}`;
    throw new LbctlError(
      'GUARD_REFUSED',
      `That would leave ${left} instances of ${service} up; at least ${minAvailable} must stay`,
      {
        suggestions: ['Resume or add another instance first.', '--min-available 0 takes out even the last one.'],
      },
    );
  }
  return { steps, countedOn: takesOut ? staying.slice(0, minAvailable) : [] };
}

function pauseStep(service: string, { address, instances }: Target): Step {
  const up = instances.filter((instance) => instance.admin === 'up');
  const foreign = up.find((instance) => instance.owner === null);
  if (foreign) throw notManaged(service, foreign);
  const recorded = instances.some((instance) => instance.pause !== null && instance.pause.strategy !== 'withdrawn');
  const first = instances[0];
  if (recorded && up.length > 0)
    return { address, instances, action: 'wait', condition: 'asked before, not followed yet' };
  if (recorded) {
    const gone = instances.every((instance) => instance.notes.includes('OWNER-GONE'));
    const by = first?.pause?.by ?? '';
    return {
      address,
      instances,
      action: 'none',
      condition: gone ? 'already paused, its owner is gone' : `already paused by ${by}`,
    };
  }
  const condition = up.length > 0 ? 'up' : (first?.pause?.reason ?? 'resuming');
  return { address, instances, action: 'pause', condition };
}

/** @throws CHECK_FAILED when an instance was taken out by its own process, which no record can bring back. */
export function planResume(service: string, targets: readonly Target[]): Plan {
  const steps = targets.map(({ address, instances }): Step => {
    const recorded = instances.some((instance) => instance.pause !== null && instance.pause.strategy !== 'withdrawn');
    if (recorded) {
      const gone = instances.every((instance) => instance.notes.includes('OWNER-GONE'));
      return { address, instances, action: 'resume', condition: gone ? 'paused, its owner is gone' : 'paused' };
    }
    if (instances.some((instance) => instance.admin === 'up')) {
      return { address, instances, action: 'none', condition: 'already up' };
    }
    const withdrawn = instances.find((instance) => instance.pause !== null);
    if (withdrawn?.pause) {
      throw new LbctlError(
        'CHECK_FAILED',
        `${address} of ${service} was taken out by its own process: ${withdrawn.pause.reason}`,
        {
          suggestions: ['It comes back by itself once its process finds it healthy.'],
        },
      );
    }
    return { address, instances, action: 'wait', condition: 'resuming' };
  });
  return { steps, countedOn: [] };
}

const looksLike: Record<Instance['dialect'], string> = {
  gozero: 'a go-zero server',
  kratos: 'a kratos server',
  endpoint: "a server that registers through etcd's gRPC naming",
  json: 'a server of the json registry',
  unknown: 'something that lbctl does not know',
};

function notManaged(service: string, { address, key, dialect, lease }: Instance): LbctlError {
  const who = lease === null ? 'a key without a lease, which no process keeps alive' : looksLike[dialect];
  const why = lease === null ? 'nobody would follow a pause record' : 'its process does not follow pause records';
  return new LbctlError(
    'NOT_MANAGED',
    `${address} of ${service} was not registered by lbctl: it looks like ${who}, and ${why}`,
    {
      suggestions: [
        `Register it through lbctl register ${service} ${address} -- CMD (or this library): then lbctl pauses and resumes it.`,
        lease === null
          ? `etcdctl del ${JSON.stringify(key)} takes it out for good.`
          : 'Stopping its process takes it out.',
      ],
    },
  );
}

function distinct(instances: readonly Instance[]): readonly Instance[] {
  return [...new Map(instances.map((instance) => [instance.address, instance])).values()];
}
