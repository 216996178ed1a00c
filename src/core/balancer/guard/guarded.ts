import { murmur3 } from '../../hashing/murmur3.js';
import type { Clock, Rng } from '../../model/clock.js';
import {
  type Balancer,
  type CallOutcome,
  type Candidate,
  distinct,
  type InstanceView,
  type KeyPlacement,
  type Picked,
  type PickOptions,
} from '../balancer.js';
import { Circuit, type CircuitCall, type CircuitSettings } from './circuit.js';
import { localShare } from './zone.js';

export interface GuardSettings {
  /** Null: instances are never left out for how they answer. */
  readonly health: CircuitSettings | null;
  /** The client's own zone; empty: no preference. */
  readonly zone: string;
}

/** With more than this part of the circuits open it is the client or the network that is ill: health is ignored. */
const panicAbove = 0.5;

type Avoid = (address: string) => boolean;

/**
 * A policy that leaves out instances that fail, and prefers those of the client's zone. What a pick is told to avoid (mostly
 * what the call has tried) comes before health, and health before the zone: the weaker wish yields when nobody would be left.
 */
export class Guarded<I extends Candidate> implements Balancer<I> {
  #instances: readonly I[] = [];
  #circuits = new Map<string, Circuit>();
  /** Those that were not well when last looked at; while it is empty a pick costs next to nothing more. */
  readonly #troubled = new Map<string, Circuit>();
  readonly place?: (key: string, nextLimit: number) => KeyPlacement;

  constructor(
    private readonly inner: Balancer<I>,
    private readonly settings: GuardSettings,
    private readonly clock: Clock,
    private readonly rng: Rng,
  ) {
    if (inner.place) this.place = inner.place.bind(inner);
  }

  update(instances: readonly I[]): void {
    this.#instances = distinct(instances);
    const { health } = this.settings;
    if (health !== null) {
      const before = this.#circuits;
      this.#circuits = new Map(
        this.#instances.map(({ address }) => [address, before.get(address) ?? new Circuit(health)]),
      );
      for (const address of this.#troubled.keys()) if (!this.#circuits.has(address)) this.#troubled.delete(address);
    }
    this.inner.update(instances);
  }

  pick(options: PickOptions = {}): Picked<I> {
    const guarded = this.#troubled.size === 0 && this.settings.zone === '' ? options : this.#steer(options);
    const picked = this.inner.pick(guarded);
    const circuit = this.#circuits.get(picked.instance.address);
    return circuit === undefined ? picked : new GuardedCall(picked, circuit, this.clock, this.#troubled);
  }

  inspect(): InstanceView[] {
    const nowMs = this.clock.monotonic();
    const known = new Map(this.inner.inspect?.().map((view) => [view.address, view]));
    return this.#instances.map(({ address }) => ({
      ...(known.get(address) ?? { address, inFlight: null, latencyMs: null, success: null, load: null }),
      circuit: this.#circuits.get(address)?.stateAt(nowMs) ?? null,
    }));
  }

  #steer(options: PickOptions): PickOptions {
    const nowMs = this.clock.monotonic();
    const { avoid } = options;
    const isIll = this.#illness(nowMs);
    if (isIll !== null && this.place === undefined) {
      // Most policies would not come by for long: the next call that may go there is the probe. Where keys decide, the
      // next call of a key of its own is, and no other key leaves its instance for it.
      for (const [address, circuit] of this.#troubled) {
        if (circuit.wantsProbe(nowMs) && !avoid?.(address)) return only(options, address);
      }
    }
    const isElsewhere = this.#zone(isIll, options.key);
    const wishes = [avoid, isIll, isElsewhere].filter((wish) => typeof wish === 'function');
    const combined = this.#strictest(wishes);
    return combined === undefined || combined === avoid ? options : { ...options, avoid: combined };
  }

  /** What ill instances there are to avoid; null in health and in panic. */
  #illness(nowMs: number): Avoid | null {
    let open = 0;
    for (const [address, circuit] of this.#troubled) {
      if (!circuit.isTroubled(nowMs)) this.#troubled.delete(address);
      else if (circuit.stateAt(nowMs) !== 'closed') open++;
    }
    if (this.#troubled.size === 0 || open > this.#instances.length * panicAbove) return null;
    return (address) => this.#troubled.get(address)?.admits(nowMs) === false;
  }

  /** The instances on the other side of the zone's border, which this call is not for. */
  #zone(isIll: Avoid | null, key: string | undefined): Avoid | null {
    const { zone } = this.settings;
    if (zone === '') return null;
    const share = localShare(this.#instances, zone, isIll ?? (() => false));
    // A key stays on its side for as long as the shares do.
    const draw = key === undefined ? this.rng() : murmur3(key).hi / 2 ** 32;
    const isLocalCall = draw < share;
    const local = new Set(this.#instances.filter((instance) => instance.zone === zone).map(({ address }) => address));
    return (address) => local.has(address) !== isLocalCall;
  }

  /** All of the wishes, or as many of the first as leave somebody. */
  #strictest(wishes: readonly Avoid[]): Avoid | undefined {
    for (let count = wishes.length; count > 0; count--) {
      const some = wishes.slice(0, count);
      const avoid: Avoid = some.length === 1 && some[0] ? some[0] : (address) => some.some((wish) => wish(address));
      if (this.#instances.some(({ address }) => !avoid(address))) return avoid;
    }
    return undefined;
  }
}

function only(options: PickOptions, wanted: string): PickOptions {
  return { ...options, avoid: (address) => address !== wanted };
}

class GuardedCall<I extends Candidate> implements Picked<I>, CircuitCall {
  readonly instance: I;
  readonly phase: number;
  #isOpen = true;

  constructor(
    private readonly picked: Picked<I>,
    private readonly circuit: Circuit,
    private readonly clock: Clock,
    private readonly troubled: Map<string, Circuit>,
  ) {
    this.instance = picked.instance;
    this.phase = circuit.phase;
    if (troubled.size > 0) circuit.started(this, clock.monotonic());
  }

  done(outcome: CallOutcome): void {
    if (this.#isOpen) {
      this.#isOpen = false;
      const nowMs = this.clock.monotonic();
      this.circuit.ended(this, outcome.code, outcome.pushbackMs, nowMs);
      if (outcome.code !== 0 && this.circuit.isTroubled(nowMs)) this.troubled.set(this.instance.address, this.circuit);
    }
    this.picked.done(outcome);
  }

  abandon(): void {
    if (this.#isOpen) {
      this.#isOpen = false;
      this.circuit.abandoned(this);
    }
    this.picked.abandon();
  }
}
