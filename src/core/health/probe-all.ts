import type { Clock } from '../model/clock.js';
import type { Instance } from '../model/instance.js';
import { probeTcp } from './tcp-probe.js';

export interface ProbeAllOptions {
  readonly clock: Clock;
  /** For one connection attempt. */
  readonly timeoutMs: number;
  /** Attempts at the same time. */
  readonly concurrency: number;
  readonly signal?: AbortSignal;
}

/**
 * The same instances with `health`: healthy when the address accepts a TCP connection. Each address is tried once,
 * however many keys share it; what has no address stays unknown.
 */
export async function probeAll(instances: readonly Instance[], options: ProbeAllOptions): Promise<readonly Instance[]> {
  const waiting = [...new Set(instances.map((instance) => instance.address).filter((address) => address !== ''))];
  const health = new Map<string, Instance['health']>();
  const worker = async () => {
    for (let address = waiting.pop(); address !== undefined; address = waiting.pop()) {
      if (options.signal?.aborted) return;
      health.set(address, (await accepts(address, options)) ? 'healthy' : 'unhealthy');
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.concurrency, waiting.length) }, worker));
  return instances.map((instance) => ({ ...instance, health: health.get(instance.address) ?? 'unknown' }));
}

async function accepts(address: string, { clock, timeoutMs, signal }: ProbeAllOptions): Promise<boolean> {
  const limit = new AbortController();
  const abort = () => limit.abort();
  const timer = clock.timer(timeoutMs, abort);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    await probeTcp(address, limit.signal);
    return true;
  } catch {
    return false;
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', abort);
  }
}
