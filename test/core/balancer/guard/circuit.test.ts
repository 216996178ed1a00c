import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Circuit, type CircuitCall } from '../../../../src/core/balancer/guard/circuit.js';
import { NaiveCircuit } from './naive-circuit.js';

const internal = 13;
const resourceExhausted = 8;

describe('the circuit of one instance', () => {
  it('does what a plain reading of the rules does, on any sequence of calls', () => {
    const step = fc.record({
      afterMs: fc.constantFrom(0, 1, 500, 9_999, 10_000),
      does: fc.constantFrom('start', 'start', 'end', 'end', 'abandon'),
      which: fc.nat(20),
      fails: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const circuit = new Circuit();
        const naive = new NaiveCircuit();
        let now = 0;
        const open: Array<{ ours: CircuitCall; theirs: ReturnType<NaiveCircuit['start']> }> = [];
        for (const [id, { afterMs, does, which, fails }] of steps.entries()) {
          now += afterMs;
          naive.tick(now);
          if (does === 'start') {
            const ours = { phase: circuit.phase };
            circuit.started(ours, now);
            open.push({ ours, theirs: naive.start(id, now) });
          } else {
            const [call] = open.splice(which % Math.max(1, open.length), 1);
            if (!call) continue;
            if (does === 'abandon') {
              circuit.abandoned(call.ours);
              naive.abandon(call.theirs);
            } else {
              circuit.ended(call.ours, fails ? internal : 0, undefined, now);
              naive.end(call.theirs, fails, now);
            }
          }
          expect([circuit.stateAt(now), circuit.admits(now), circuit.phase]).toEqual([
            naive.state,
            naive.admits(),
            naive.phase,
          ]);
        }
      }),
    );
  });

  function failing(times: number, circuit = new Circuit(), at = 0): Circuit {
    for (let i = 0; i < times; i++) {
      const call = { phase: circuit.phase };
      circuit.started(call, at);
      circuit.ended(call, internal, undefined, at);
    }
    return circuit;
  }

  it('opens at the third failure in a row, for 10 s', () => {
    const circuit = failing(2);
    circuit.ended({ phase: circuit.phase }, 0, undefined, 0);
    failing(2, circuit);
    expect(circuit.stateAt(0)).toBe('closed');
    failing(1, circuit);
    expect([circuit.stateAt(0), circuit.stateAt(9_999), circuit.stateAt(10_000)]).toEqual([
      'open',
      'open',
      'half-open',
    ]);
  });

  it.each([1, 2, 3, 5, 6, 7, 9, 10, 11, 16])('takes code %i for an answer', (code) => {
    const circuit = new Circuit();
    for (let i = 0; i < 5; i++) circuit.ended({ phase: circuit.phase }, code, undefined, 0);
    expect(circuit.stateAt(0)).toBe('closed');
  });

  it('backs off for 1 s when a server has no room, twice as long each time, until it answers', () => {
    const circuit = new Circuit({ failures: 100 });
    const full = (at: number, pushbackMs?: number) =>
      circuit.ended({ phase: circuit.phase }, resourceExhausted, pushbackMs, at);
    full(0);
    full(0);
    expect([circuit.admits(999), circuit.admits(1000)]).toEqual([false, true]);
    full(1000);
    expect([circuit.admits(2999), circuit.admits(3000)]).toEqual([false, true]);
    full(3000, 50);
    expect([circuit.admits(3049), circuit.admits(3050)]).toEqual([false, true]);
    full(3050, -1);
    expect([circuit.admits(7049), circuit.admits(7050)]).toEqual([false, true]);
    circuit.ended({ phase: circuit.phase }, 0, undefined, 8000);
    full(8000);
    expect([circuit.admits(8999), circuit.admits(9000)]).toEqual([false, true]);
    full(9000, 3_600_000);
    expect(circuit.admits(9000 + 30_000)).toBe(true);
  });

  it('is calm when a success has nothing to tell it', () => {
    const circuit = new Circuit();
    const early = { phase: circuit.phase };
    expect(circuit.isCalm).toBe(true);
    failing(1, circuit);
    expect(circuit.isCalm).toBe(false);
    failing(2, circuit);
    circuit.ended({ phase: circuit.phase }, 0, undefined, 10_000);
    expect(circuit.isCalm).toBe(true);
    // From before it opened: no failure any more, but still no room.
    circuit.ended(early, resourceExhausted, undefined, 10_000);
    expect(circuit.isCalm).toBe(false);
    circuit.ended({ phase: circuit.phase }, 0, undefined, 11_000);
    expect(circuit.isCalm).toBe(true);
  });
});
