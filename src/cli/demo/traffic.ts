import { Caller } from '../../core/grpc/calls/caller.js';
import { clientOptions } from '../../core/grpc/client/client-options.js';
import { systemClock } from '../../core/model/clock.js';
import { CallStatistics, runCalls } from '../../core/operations/call.js';

/** Beyond this many calls in flight a client starts none: a stuck instance must not eat the process. */
const mostInFlight = 200;
const deadlineMs = 2000;

export interface TrafficOptions {
  readonly target: string;
  readonly path: string;
  readonly policy: string;
  /** One client each. */
  readonly clients: readonly string[];
  /** Of each client. */
  readonly callsPerSecond: number;
}

/** Clients that call a service at a steady rate, as other programs would: each has connections and a balancer of its own. */
export function startTraffic(options: TrafficOptions): { stop(): Promise<void> } {
  const ending = new AbortController();
  const method = { path: options.path, request: Buffer.alloc(0), verdict: () => null, answers: [] };
  const runs = options.clients.map(async (observe) => {
    const caller = new Caller({
      target: options.target,
      options: { ...clientOptions({ policy: options.policy, observe }), 'grpc.use_local_subchannel_pool': 1 },
      method,
      timeoutMs: deadlineMs,
      metadata: [],
    });
    const plan = { rps: options.callsPerSecond, concurrency: mostInFlight, count: null, durationMs: null };
    ending.signal.addEventListener('abort', () => caller.close(), { once: true });
    await runCalls(plan, () => caller.call(), new CallStatistics(), { clock: systemClock, signal: ending.signal });
  });
  return {
    stop: async () => {
      ending.abort();
      await Promise.all(runs);
    },
  };
}
