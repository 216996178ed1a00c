import { describe, expect, it } from 'vitest';
import type { GateState } from '../../../src/core/health/gate.js';
import { HealthGate } from '../../../src/core/health/health-gate.js';
import type { Clock } from '../../../src/core/model/clock.js';

/** A clock that moves when it is told to. */
class ManualClock implements Clock {
  #now = 0;
  #timers = new Set<{ at: number; fn: () => void }>();
  now = () => this.#now;
  monotonic = () => this.#now;
  timer(ms: number, fn: () => void) {
    const timer = { at: this.#now + ms, fn };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }
  get pending(): number {
    return this.#timers.size;
  }
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#now = next.at;
      this.#timers.delete(next);
      next.fn();
    }
    this.#now = end;
  }
}

function gateOn(probe: (signal: AbortSignal) => Promise<string>) {
  const clock = new ManualClock();
  const seen: Array<[number, GateState['phase'], string]> = [];
  const gate = new HealthGate({
    probe,
    clock,
    onChange: (state) => seen.push([clock.now(), state.phase, state.detail]),
  });
  return { clock, gate, seen };
}

describe('HealthGate', () => {
  it('finds a server that starts late within 200 ms, loses it after 3 failures, takes it back with the next success', async () => {
    let up = false;
    const { clock, gate, seen } = gateOn(async () => {
      if (!up) throw new Error('refused');
      return 'ok';
    });
    gate.start();
    await clock.advance(1500);
    up = true;
    await clock.advance(500);
    up = false;
    await clock.advance(10_000);
    up = true;
    await clock.advance(2000);
    gate.stop();
    expect(seen).toEqual([
      [0, 'starting', 'refused'],
      [1600, 'healthy', 'ok'],
      [2600, 'healthy', 'refused'],
      [4600, 'unhealthy', 'refused'],
      [12_600, 'healthy', 'ok'],
    ]);
  });

  it('a probe that never ends fails at its deadline, is told to end, and does not stop the next ones', async () => {
    let asked = 0;
    let aborted = 0;
    const { clock, gate, seen } = gateOn((signal) => {
      asked++;
      signal.addEventListener('abort', () => aborted++);
      return new Promise(() => undefined);
    });
    gate.start();
    await clock.advance(2500);
    expect(seen).toEqual([[1000, 'starting', 'no answer within 1000 ms']]);
    expect(asked).toBe(3);
    expect(aborted).toBe(2);
    gate.stop();
  });

  it('after stop() nothing runs, nothing is told, and no timer is left', async () => {
    let answer: (text: string) => void = () => undefined;
    const { clock, gate, seen } = gateOn(
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    );
    gate.start();
    await clock.advance(0);
    gate.stop();
    answer('ok');
    await clock.advance(5000);
    expect(seen).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
