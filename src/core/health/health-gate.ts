import type { Clock, Timer } from '../model/clock.js';
import { messageOf } from '../model/errors.js';
import {
  defaultTimings,
  delayBeforeNext,
  type GateState,
  type GateTimings,
  initialGate,
  nextGate,
  type ProbeResult,
} from './gate.js';
import type { Probe } from './probe.js';

export interface HealthGateOptions {
  readonly probe: Probe;
  readonly clock: Clock;
  readonly timings?: Partial<GateTimings>;
  /** Called when the phase changes, and when a probe says something new; never after `stop()`. */
  onChange(state: GateState): void;
}

/** Probes for as long as it is started: the timer beside the rules of gate.ts. One probe at a time, each with a deadline. */
export class HealthGate {
  readonly #options: HealthGateOptions;
  readonly #timings: GateTimings;
  #state = initialGate;
  #running: { timer: Timer | undefined; abort: AbortController } | undefined;

  constructor(options: HealthGateOptions) {
    this.#options = options;
    this.#timings = { ...defaultTimings, ...options.timings };
  }

  get state(): GateState {
    return this.#state;
  }

  /** Probes at once, then on and on. Idempotent. */
  start(): void {
    if (this.#running) return;
    this.#running = { timer: undefined, abort: new AbortController() };
    void this.#round(this.#running);
  }

  /** Ends the probe in flight. Idempotent. */
  stop(): void {
    this.#running?.timer?.cancel();
    this.#running?.abort.abort();
    this.#running = undefined;
  }

  async #round(run: { timer: Timer | undefined; abort: AbortController }): Promise<void> {
    const result = await probeOnce(this.#options.probe, this.#options.clock, this.#timings.timeoutMs, run.abort.signal);
    if (this.#running !== run) return;
    const before = this.#state;
    this.#state = nextGate(before, result, this.#timings.failureLimit);
    run.timer = this.#options.clock.timer(delayBeforeNext(this.#state, this.#timings), () => void this.#round(run));
    if (before.phase !== this.#state.phase || before.detail !== this.#state.detail) this.#options.onChange(this.#state);
  }
}

/** One probe with a deadline, never rejecting; a probe that does not heed its signal is left behind. */
export async function probeOnce(
  probe: Probe,
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal = new AbortController().signal,
): Promise<ProbeResult> {
  const abort = new AbortController();
  const late: ProbeResult = { healthy: false, detail: `no answer within ${timeoutMs} ms` };
  return new Promise((resolve) => {
    const settle = (result: ProbeResult) => {
      timer.cancel();
      signal.removeEventListener('abort', onStop);
      resolve(result);
      abort.abort();
    };
    const onStop = () => settle({ healthy: false, detail: 'stopped' });
    const timer = clock.timer(timeoutMs, () => settle(late));
    signal.addEventListener('abort', onStop, { once: true });
    probe(abort.signal).then(
      (detail) => settle({ healthy: true, detail }),
      (error) => settle({ healthy: false, detail: messageOf(error) }),
    );
  });
}
