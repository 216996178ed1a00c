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
import type { PickTrace } from '../comparisons.js';
import { Circuit, type CircuitCall, type CircuitSettings } from './circuit.js';
import { ZonePreference } from './zone.js';

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
  readonly #zone: ZonePreference;
  readonly place?: (key: string, nextLimit: number) => KeyPlacement;
  readonly trace?: (address: string, limit: number) => readonly PickTrace[];

  constructor(
    private readonly inner: Balancer<I>,
    private readonly settings: GuardSettings,
    private readonly clock: Clock,
    private readonly rng: Rng,
  ) {
    this.#zone = new ZonePreference(settings.zone);
    if (inner.place) this.place = inner.place.bind(inner);
    if (inner.trace) this.trace = inner.trace.bind(inner);
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
    this.#zone.update(this.#instances);
    this.inner.update(instances);
  }

  pick(options?: PickOptions): Picked<I> {
    const isPlain = this.#troubled.size === 0 && !this.#zone.hasBorder;
    const picked = this.inner.pick(isPlain ? options : this.#steer(options));
    const circuit = this.#circuits.get(picked.instance.address);
    return circuit === undefined ? picked : new GuardedCall(picked, circuit, this.clock, this.#watch);
  }

  inspect(): InstanceView[] {
    const nowMs = this.clock.monotonic();
    const known = new Map(this.inner.inspect?.().map((view) => [view.address, view]));
    return this.#instances.map(({ address }) => ({
      ...(known.get(address) ?? { address, inFlight: null, latencyMs: null, success: null, load: null }),
      circuit: this.#circuits.get(address)?.stateAt(nowMs) ?? null,
    }));
  }

  /** Has a circuit looked at from the next pick on; that of an instance which has left says nothing any more. */
  readonly #watch = (address: string, circuit: Circuit): void => {
    if (this.#circuits.get(address) === circuit) this.#troubled.set(address, circuit);
  };

  #steer(options: PickOptions | undefined): PickOptions | undefined {
    const avoid = options?.avoid;
    const wishes: Avoid[] = avoid === undefined ? [] : [avoid];
    const nowMs = this.#troubled.size === 0 ? 0 : this.clock.monotonic();
    for (const [address, circuit] of this.#troubled) if (!circuit.isTroubled(nowMs)) this.#troubled.delete(address);
    if (this.#troubled.size > 0 && !this.#isPanic()) {
      const probed = this.#probeCandidate(avoid, nowMs);
      if (probed !== undefined) return { ...options, avoid: (address) => address !== probed };
      wishes.push(
        (address) => this.#troubled.get(address)?.isShut(nowMs) === true,
        (address) => this.#troubled.get(address)?.isBackedOff(nowMs) === true,
      );
    }
    if (this.#zone.hasBorder) wishes.push(this.#zone.otherSide(this.#isLocalCall(options?.key, nowMs)));
    const combined = this.#strictest(wishes);
    return combined === undefined || combined === avoid ? options : { ...options, avoid: combined };
  }

  #isPanic(): boolean {
    let open = 0;
    for (const circuit of this.#troubled.values()) if (!circuit.isClosed) open++;
    return open > this.#instances.length * panicAbove;
  }

  /**
   * Who gets this call to see how it is. Most policies would not come by for long: the next call that may go there is the
   * probe. Where keys decide, the next call of a key of its own is, and no other key leaves its instance for it.
   */
  #probeCandidate(avoid: Avoid | undefined, nowMs: number): string | undefined {
    if (this.place !== undefined) return undefined;
    for (const [address, circuit] of this.#troubled) {
      if (circuit.wantsProbe(nowMs) && !avoid?.(address)) return address;
    }
    return undefined;
  }

  /** Panic or not: a zone that is ill gives its calls away to one that is well. */
  #isLocalCall(key: string | undefined, nowMs: number): boolean {
    if (this.#troubled.size === 0) return true;
    const share = this.#zone.localShare((address) => this.#troubled.get(address)?.admits(nowMs) !== false);
    if (share === 0 || share === 1) return share === 1;
    // A key stays on its side for as long as the shares do. Another hash than the policies', or each side would get keys
    // from one arc of their rings only.
    return (key === undefined ? this.rng() : murmur3(`zone:${key}`).hi / 2 ** 32) < share;
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

class GuardedCall<I extends Candidate> implements Picked<I>, CircuitCall {
  readonly instance: I;
  readonly isForced: boolean | undefined;
  readonly phase: number;
  #isOpen = true;

  constructor(
    private readonly picked: Picked<I>,
    private readonly circuit: Circuit,
    private readonly clock: Clock,
    private readonly watch: (address: string, circuit: Circuit) => void,
  ) {
    this.instance = picked.instance;
    this.isForced = picked.isForced;
    this.phase = circuit.phase;
    if (!circuit.isClosed) circuit.started(this, clock.monotonic());
  }

  done(outcome: CallOutcome): void {
    if (this.#isOpen) {
      this.#isOpen = false;
      if (outcome.code !== 0 || !this.circuit.isCalm) this.#tell(outcome);
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

  #tell({ code, pushbackMs }: CallOutcome): void {
    const nowMs = this.clock.monotonic();
    this.circuit.ended(this, code, pushbackMs, nowMs);
    if (this.circuit.isTroubled(nowMs)) this.watch(this.instance.address, this.circuit);
  }
}
