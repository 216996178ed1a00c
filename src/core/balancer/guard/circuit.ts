import { isAcceptable } from '../acceptable.js';

/** When the health checker leaves an instance out, and for how long. */
export interface CircuitSettings {
  /** Failures in a row that open the circuit. Default 3. */
  readonly failures?: number;
  /** How long it stays open before one call may try. Default 10,000. */
  readonly openMs?: number;
}

/** Where a circuit is: calls go through, none does, or exactly one does to see. */
export type CircuitState = 'closed' | 'open' | 'half-open';

const defaultFailures = 3;
const defaultOpenMs = 10_000;
const cancelled = 1;
const resourceExhausted = 8;
const firstBackOffMs = 1000;
const longestBackOffMs = 30_000;

/** A call as its circuit remembers it: what it says counts only in the phase in which it began. */
export interface CircuitCall {
  readonly phase: number;
}

/**
 * The circuit of one instance. Failures in a row open it; after a while one call may probe; its success closes the circuit,
 * its failure opens it again. Beside that, a server that says it has no room (RESOURCE_EXHAUSTED) is left alone for as long
 * as it asks, or for 1 s, doubling until it has answered; in both cases for 30 s at most.
 *
 * Time is told by the caller, monotonic milliseconds.
 */
export class Circuit {
  readonly #failureLimit: number;
  readonly #openMs: number;
  #failures = 0;
  /** Counts the changes of state: the outcome of a call from before the last one is old news. */
  #phase = 0;
  #openUntilMs: number | null = null;
  #probe: { readonly call: CircuitCall; readonly untilMs: number } | null = null;
  #backedOffUntilMs = Number.NEGATIVE_INFINITY;
  #backOffMs = firstBackOffMs;

  constructor(settings: CircuitSettings = {}) {
    this.#failureLimit = settings.failures ?? defaultFailures;
    this.#openMs = settings.openMs ?? defaultOpenMs;
  }

  get phase(): number {
    return this.#phase;
  }

  stateAt(nowMs: number): CircuitState {
    if (this.#openUntilMs === null) return 'closed';
    return nowMs < this.#openUntilMs ? 'open' : 'half-open';
  }

  get isClosed(): boolean {
    return this.#openUntilMs === null;
  }

  /** It is closed and remembers nothing bad: a success has nothing to tell it. */
  get isCalm(): boolean {
    return this.#openUntilMs === null && this.#failures === 0 && this.#backOffMs === firstBackOffMs;
  }

  /** Something keeps calls away, or all but one. */
  isTroubled(nowMs: number): boolean {
    return this.#openUntilMs !== null || this.isBackedOff(nowMs);
  }

  /** Failures keep calls away: it is open, or its probe is under way. */
  isShut(nowMs: number): boolean {
    const state = this.stateAt(nowMs);
    return state === 'open' || (state === 'half-open' && this.#isProbed(nowMs));
  }

  /** The server has said that it has no room. */
  isBackedOff(nowMs: number): boolean {
    return nowMs < this.#backedOffUntilMs;
  }

  /** Whether a call may go there. */
  admits(nowMs: number): boolean {
    return !this.isShut(nowMs) && !this.isBackedOff(nowMs);
  }

  /** It waits for one call to tell how the instance is. */
  wantsProbe(nowMs: number): boolean {
    return this.stateAt(nowMs) === 'half-open' && this.admits(nowMs);
  }

  started(call: CircuitCall, nowMs: number): void {
    // A probe that never ends must not keep the instance out for good: another may follow.
    if (this.stateAt(nowMs) === 'half-open' && !this.#isProbed(nowMs)) {
      this.#probe = { call, untilMs: nowMs + this.#openMs };
    }
  }

  abandoned(call: CircuitCall): void {
    if (this.#probe?.call === call) this.#probe = null;
  }

  ended(call: CircuitCall, code: number, pushbackMs: number | undefined, nowMs: number): void {
    // Who gave up is the caller: that says nothing of the instance, and a probe that ended so has found out nothing.
    if (code === cancelled) {
      this.abandoned(call);
      return;
    }
    if (code === resourceExhausted) this.#backOff(pushbackMs, nowMs);
    if (call.phase !== this.#phase) return;
    if (isAcceptable(code)) {
      this.#failures = 0;
      this.#backOffMs = firstBackOffMs;
      if (this.#openUntilMs !== null) this.#change(null);
      return;
    }
    const state = this.stateAt(nowMs);
    if (state === 'half-open') this.#change(nowMs + this.#openMs);
    else if (state === 'closed' && ++this.#failures >= this.#failureLimit) this.#change(nowMs + this.#openMs);
  }

  #isProbed(nowMs: number): boolean {
    return this.#probe !== null && nowMs < this.#probe.untilMs;
  }

  #change(openUntilMs: number | null): void {
    this.#openUntilMs = openUntilMs;
    this.#probe = null;
    this.#failures = 0;
    this.#phase++;
  }

  #backOff(pushbackMs: number | undefined, nowMs: number): void {
    // Many calls that were in flight together say it once, not many times.
    if (this.isBackedOff(nowMs)) return;
    const asked = pushbackMs !== undefined && pushbackMs >= 0 ? pushbackMs : undefined;
    this.#backedOffUntilMs = nowMs + Math.min(asked ?? this.#backOffMs, longestBackOffMs);
    if (asked === undefined) this.#backOffMs = Math.min(this.#backOffMs * 2, longestBackOffMs);
  }
}
