import type { Instance } from '../../model/instance.js';
import { type ObserverView, type WaitingObserver, waitingFor } from '../../stats/observers.js';
import { recordedPause } from '../recorded-pause.js';

/** What a drain waits for, in this order. */
export type ConditionName =
  | 'claim'
  | 'out'
  | 'observers'
  | 'idle'
  | 'grace'
  | 'command'
  | 'back'
  | 'healthy'
  | 'resumed';

export interface Condition {
  readonly condition: ConditionName;
  readonly met: boolean;
  /** For people: what is so now. */
  readonly detail: string;
}

export interface DrainFacts {
  /** Everything at the address. */
  readonly instances: readonly Instance[];
  /** `denied`: this user may not read who they are. */
  readonly observers: readonly ObserverView[] | 'denied';
  /** ESTABLISHED connections on the port; null: nobody looks. */
  readonly connections: number | null;
  /** For how long it has been out, as far as this drain has seen; null: it is not. */
  readonly outForMs: number | null;
}

export interface DrainWants {
  readonly address: string;
  /** The revision at which the pause stands: what observers must have applied. */
  readonly revision: bigint;
  readonly untilIdle: boolean;
  readonly graceMs: number;
}

/** Out of rotation by a pause record, nothing of it in rotation. */
export function isOut(instances: readonly Instance[]): boolean {
  return isPaused(instances) && instances.every(({ admin }) => admin === 'paused');
}

/** A pause record stands, whatever its owner does. */
export function isPaused(instances: readonly Instance[]): boolean {
  return recordedPause(instances) !== null;
}

/** All conditions between the pause and the command. Pure. */
export function drainConditions(wants: DrainWants, facts: DrainFacts): readonly Condition[] {
  return [
    outCondition(facts),
    observersCondition(wants, facts.observers),
    ...(wants.untilIdle ? [idleCondition(facts.connections ?? 0)] : []),
    ...(wants.graceMs > 0 ? [graceCondition(wants.graceMs, facts.outForMs)] : []),
  ];
}

function outCondition({ instances }: DrainFacts): Condition {
  if (isOut(instances)) return { condition: 'out', met: true, detail: 'out of rotation' };
  const up = instances.filter(({ admin }) => admin === 'up').map(({ key }) => key);
  return { condition: 'out', met: false, detail: `in rotation as ${up.join(', ')}` };
}

const mostNamed = 3;

function observersCondition(
  { address, revision, untilIdle, graceMs }: DrainWants,
  observers: DrainFacts['observers'],
): Condition {
  if (observers === 'denied' || observers.length === 0) {
    const proved = untilIdle || graceMs > 0;
    const advice = proved ? '' : ': this proves nothing, use --grace or --until-idle';
    const none = observers === 'denied' ? 'this etcd user may not read who observes' : 'no observers publish';
    return { condition: 'observers', met: true, detail: `${none}${advice}` };
  }
  const waiting = waitingFor(observers, { addresses: [address], revision });
  const behind = waiting.filter((one) => one.behind);
  const busy = waiting.filter(({ inFlight }) => inFlight > 0);
  const name = ({ host, pid }: WaitingObserver) => `${host}/${pid}`;
  const calls = ({ inFlight }: WaitingObserver) => (inFlight === 1 ? '1 call' : `${inFlight} calls`);
  const parts = [
    `${observers.length - waiting.length} of ${observers.length} observers`,
    ...named(behind, (one) => `${name(one)} has not applied it`),
    ...named(busy, (one) => `${calls(one)} in flight at ${name(one)}`),
  ];
  return { condition: 'observers', met: waiting.length === 0, detail: parts.join(', ') };
}

function named(observers: readonly WaitingObserver[], text: (observer: WaitingObserver) => string): string[] {
  const more = observers.length - mostNamed;
  return [...observers.slice(0, mostNamed).map(text), ...(more > 0 ? [`and ${more} more`] : [])];
}

function idleCondition(connections: number): Condition {
  const noun = connections === 1 ? 'connection' : 'connections';
  const detail = connections === 0 ? 'no established connection' : `${connections} established ${noun}`;
  return { condition: 'idle', met: connections === 0, detail };
}

function graceCondition(graceMs: number, outForMs: number | null): Condition {
  const met = outForMs !== null && outForMs >= graceMs;
  return { condition: 'grace', met, detail: `${graceMs / 1000}s out of rotation` };
}

/** After the command: whether its owner lives there again, and serves. `health`: null while nobody has asked yet. */
export function returnConditions(
  instances: readonly Instance[],
  health: { readonly healthy: boolean; readonly detail: string } | null,
): readonly Condition[] {
  const owners = instances.filter(({ notes }) => !notes.includes('OWNER-GONE'));
  const owner = owners.find((one) => one.owner !== null)?.owner;
  const who = owner ? `${owner.host}, process ${owner.pid}` : (owners[0]?.key ?? '');
  return [
    { condition: 'back', met: owners.length > 0, detail: owners.length > 0 ? who : 'nobody registers the address' },
    { condition: 'healthy', met: health?.healthy === true, detail: health?.detail ?? 'not asked yet' },
  ];
}
