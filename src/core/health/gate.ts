export interface GateState {
  /** `starting`: never healthy so far; failures do not count there. */
  readonly phase: 'starting' | 'healthy' | 'unhealthy';
  /** Failures in a row. */
  readonly failures: number;
  /** What the last probe said; empty before the first. */
  readonly detail: string;
}

export interface ProbeResult {
  readonly healthy: boolean;
  readonly detail: string;
}

export interface GateTimings {
  /** Between probes until the first success: short, because a deployment waits for it. */
  readonly startingIntervalMs: number;
  readonly intervalMs: number;
  /** One probe that has not answered after this has failed. */
  readonly timeoutMs: number;
  /** So many failures in a row withdraw the instance; one success brings it back. */
  readonly failureLimit: number;
}

/** A dead server is noticed after at most `failureLimit * (intervalMs + timeoutMs)` = 6 s, one that refuses after 3 s. */
export const defaultTimings: GateTimings = {
  startingIntervalMs: 200,
  intervalMs: 1000,
  timeoutMs: 1000,
  failureLimit: 3,
};

export const initialGate: GateState = { phase: 'starting', failures: 0, detail: '' };

export function nextGate(state: GateState, result: ProbeResult, failureLimit: number): GateState {
  if (result.healthy) return { phase: 'healthy', failures: 0, detail: result.detail };
  const failures = state.failures + 1;
  const phase = state.phase === 'healthy' && failures >= failureLimit ? 'unhealthy' : state.phase;
  return { phase, failures, detail: result.detail };
}

export function delayBeforeNext(state: GateState, timings: GateTimings): number {
  return state.phase === 'starting' ? timings.startingIntervalMs : timings.intervalMs;
}
