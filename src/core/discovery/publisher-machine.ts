/** Where a publisher is between asked for and done. */
export type PublisherState = 'registering' | 'registered' | 'paused' | 'recovering' | 'stopped';

/** Where the instance should be: in rotation, or out of it and why. */
export type Target =
  | { readonly rotation: 'in' }
  /** `pauseRevision`: the pause record it obeys; null when its own process took it out. */
  | { readonly rotation: 'out'; readonly pauseRevision: bigint | null; readonly reason: string };

export interface Machine {
  readonly started: boolean;
  readonly pauseRevision: bigint | null;
  readonly withdrawn: string | null;
  readonly stopping: boolean;
  readonly ended: boolean;
  /** What etcd holds of us, as far as we know. */
  readonly held: Target | null;
  /** Something that we hold is not as we wrote it. */
  readonly damaged: boolean;
  readonly doing: 'nothing' | 'registering' | 'repairing' | 'waiting' | 'releasing';
  /** What `doing` works towards. */
  readonly goal: Target | null;
  /** It held a registration, or failed to get one. */
  readonly troubled: boolean;
}

export type PublisherEvent =
  | { readonly type: 'start' }
  | { readonly type: 'pause-record'; readonly revision: bigint | null }
  | { readonly type: 'withdraw'; readonly reason: string | null }
  | { readonly type: 'stop' }
  | { readonly type: 'damaged' }
  | { readonly type: 'lease-lost' }
  /** What was being done is done. */
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly next: 'cool-down' | 'lease-lost' | 'stop' }
  | { readonly type: 'waited' };

export type Effect =
  /** A new lease with the instance on it, in the place of whatever was there before. */
  | { readonly do: 'register'; readonly goal: Target }
  /** Write again, on the lease that is held. */
  | { readonly do: 'repair'; readonly goal: Target }
  | { readonly do: 'release' }
  /** `stagger`: a random moment, so that many do not come back at once. */
  | { readonly do: 'wait'; readonly how: 'stagger' | 'cool-down' }
  /** Break off the call or the wait that is going on; `done`, `failed` or `waited` still follows for a call. */
  | { readonly do: 'cancel' };

export const initialMachine: Machine = {
  started: false,
  pauseRevision: null,
  withdrawn: null,
  stopping: false,
  ended: false,
  held: null,
  damaged: false,
  doing: 'nothing',
  goal: null,
  troubled: false,
};

export function publicState(machine: Machine): PublisherState {
  if (machine.ended) return 'stopped';
  if (!machine.held || machine.damaged) return machine.troubled ? 'recovering' : 'registering';
  return machine.held.rotation === 'in' ? 'registered' : 'paused';
}

/** What the last wish asks for. A pause record outranks the process: the operator sees the fleet. */
export function wanted({ pauseRevision, withdrawn }: Machine): Target {
  if (pauseRevision !== null) return { rotation: 'out', pauseRevision, reason: '' };
  if (withdrawn !== null) return { rotation: 'out', pauseRevision: null, reason: withdrawn };
  return { rotation: 'in' };
}

export function sameTarget(a: Target | null, b: Target | null): boolean {
  if (a === null || b === null || a.rotation === 'in' || b.rotation === 'in') return a?.rotation === b?.rotation;
  return a.pauseRevision === b.pauseRevision && a.reason === b.reason;
}

/**
 * The publisher as a pure machine. Wishes are remembered, never queued: whenever nothing is going on, the next step is
 * whatever leads from what is held to what is wanted now. So asking twice, or changing one's mind, cannot block.
 */
export function step(machine: Machine, event: PublisherEvent): readonly [Machine, readonly Effect[]] {
  if (machine.ended) return [machine, []];
  const [next, effects] = take(machine, event);
  const [settled, more] = next.doing === 'nothing' ? decide(next) : [next, []];
  return [settled, [...effects, ...more]];
}

function take(machine: Machine, event: PublisherEvent): readonly [Machine, readonly Effect[]] {
  switch (event.type) {
    case 'start':
      return [{ ...machine, started: true }, []];
    case 'pause-record':
      return [{ ...machine, pauseRevision: event.revision }, []];
    case 'withdraw':
      return [{ ...machine, withdrawn: event.reason }, []];
    case 'stop': {
      if (machine.stopping) return [machine, []];
      const next: Machine = { ...machine, stopping: true };
      if (machine.doing === 'waiting') return [{ ...next, doing: 'nothing', goal: null }, [{ do: 'cancel' }]];
      return [next, machine.doing === 'nothing' ? [] : [{ do: 'cancel' }]];
    }
    case 'damaged':
      return [{ ...machine, damaged: machine.held !== null }, []];
    case 'lease-lost':
      return lost(machine);
    case 'done':
      if (machine.doing === 'releasing') return [{ ...machine, doing: 'nothing', held: null, ended: true }, []];
      return [{ ...machine, doing: 'nothing', held: machine.goal, goal: null, damaged: false, troubled: true }, []];
    case 'failed': {
      const idle: Machine = { ...machine, doing: 'nothing', goal: null, troubled: true };
      if (machine.stopping || event.next === 'stop') return [{ ...idle, stopping: true }, []];
      if (event.next === 'lease-lost') return lost(idle);
      return [{ ...idle, doing: 'waiting' }, [{ do: 'wait', how: 'cool-down' }]];
    }
    case 'waited':
      return [machine.doing === 'waiting' ? { ...machine, doing: 'nothing' } : machine, []];
  }
}

function lost(machine: Machine): readonly [Machine, readonly Effect[]] {
  const next: Machine = { ...machine, held: null, damaged: false, troubled: true };
  if (machine.doing !== 'nothing' || machine.stopping) return [next, []];
  return [{ ...next, doing: 'waiting' }, [{ do: 'wait', how: 'stagger' }]];
}

function decide(machine: Machine): readonly [Machine, readonly Effect[]] {
  if (!machine.started) return [machine.stopping ? { ...machine, ended: true } : machine, []];
  if (machine.ended) return [machine, []];
  if (machine.stopping) return [{ ...machine, doing: 'releasing' }, [{ do: 'release' }]];
  const goal = wanted(machine);
  if (machine.held?.rotation !== goal.rotation) {
    return [{ ...machine, doing: 'registering', goal }, [{ do: 'register', goal }]];
  }
  if (machine.damaged || !sameTarget(machine.held, goal)) {
    return [{ ...machine, doing: 'repairing', goal }, [{ do: 'repair', goal }]];
  }
  return [machine, []];
}
