import type { Clock } from '../model/clock.js';
import type { Instance } from '../model/instance.js';

/** Whether the lease of a removed key still lives. */
export type LeaseFate = 'gone' | 'alive' | 'unknown';

/** An instance that comes back within this time is called the same one, registered again. */
const sameInstanceMs = 60_000;
const mostRemembered = 1000;

/** Remembers what went, for a while, to recognise what comes back. */
export class RecentlyGone {
  readonly #clock: Clock;
  readonly #entries = new Map<string, { readonly lease: bigint; readonly at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(instance: Instance): void {
    const entry = { lease: instance.lease?.id ?? 0n, at: this.#clock.monotonic() };
    for (const name of [`key ${instance.key}`, `address ${instance.address}`]) {
      this.#entries.delete(name);
      this.#entries.set(name, entry);
    }
    // Oldest first: a Map keeps the order of insertion.
    for (const [name, { at }] of this.#entries) {
      if (this.#entries.size <= mostRemembered && entry.at - at < sameInstanceMs) break;
      this.#entries.delete(name);
    }
  }

  /** The lease it had when it went, null when nothing like it went lately. */
  take(instance: Instance): bigint | null {
    const names = [`key ${instance.key}`, `address ${instance.address}`];
    const found = names.map((name) => this.#entries.get(name)).find((entry) => entry !== undefined);
    for (const name of names) this.#entries.delete(name);
    return found && this.#clock.monotonic() - found.at < sameInstanceMs ? found.lease : null;
  }
}

export function addedCause(instance: Instance, gone: RecentlyGone): string {
  const lease = gone.take(instance);
  const inSpite = instance.pause?.cameBack ? ', in spite of its pause' : '';
  if (lease === null) return `registered${inSpite}`;
  return `re-registered, ${lease === (instance.lease?.id ?? 0n) ? 'same' : 'new'} lease${inSpite}`;
}

export function removedCause(instance: Instance, fate: LeaseFate): string {
  if (instance.admin === 'paused') return 'ended while paused';
  if (!instance.lease || fate === 'alive') return 'deleted';
  return fate === 'gone' ? 'expired or revoked' : 'removed';
}

export function pausedCause({ pause }: Instance): string {
  if (!pause) return 'paused';
  const by = pause.by === '' ? 'paused' : `paused by ${pause.by}`;
  return pause.reason === '' ? by : `${by}: ${pause.reason}`;
}

export function changedCause(was: Instance, is: Instance): string {
  if (is.notes.includes('OWNER-GONE')) return 'its owner is gone, the pause stands';
  if (was.notes.includes('OWNER-GONE')) return 'its owner is back, still paused';
  const parts: string[] = [];
  const changed = (name: string, from: string | number, to: string | number) => {
    if (from !== to) parts.push(`${name} ${from === '' ? '(none)' : from} -> ${to === '' ? '(none)' : to}`);
  };
  changed('value changed', was.address, is.address);
  changed('weight', was.weight, is.weight);
  changed('zone', was.zone, is.zone);
  changed('version', was.version, is.version);
  changed('dialect', was.dialect, is.dialect);
  if (was.lease?.id !== is.lease?.id) {
    parts.push(is.lease ? 're-registered, new lease' : 'lost its lease: the key is permanent now');
  }
  if (!was.owner && is.owner) parts.push(`owner ${is.owner.host}, process ${is.owner.pid}`);
  return parts.length > 0 ? parts.join(', ') : 'metadata changed';
}
