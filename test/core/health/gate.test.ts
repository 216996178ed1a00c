import { describe, expect, it } from 'vitest';
import {
  defaultTimings,
  delayBeforeNext,
  type GateState,
  initialGate,
  nextGate,
} from '../../../src/core/health/gate.js';

const up = { healthy: true, detail: 'SERVING' };
const down = { healthy: false, detail: 'refused' };

function phases(results: string): string {
  let state: GateState = initialGate;
  return [...results]
    .map((result) => {
      state = nextGate(state, result === '+' ? up : down, 3);
      return state.phase[0];
    })
    .join('');
}

describe('the rules of the health gate', () => {
  it.each([
    ['waits for the first success however long it takes', '-----+', 'sssssh'],
    ['is healthy at the first success', '+', 'h'],
    ['forgives two failures in a row', '+--+--+', 'hhhhhhh'],
    ['withdraws at the third', '+---', 'hhhu'],
    ['stays withdrawn while failures go on', '+-----', 'hhhuuu'],
    ['comes back at one success, and counts anew', '+---+--+---', 'hhhuhhhhhhu'],
  ])('%s', (_, results, expected) => {
    expect(phases(results)).toBe(expected);
  });

  it('asks more often only until the first success', () => {
    const healthy = nextGate(initialGate, up, 3);
    expect(delayBeforeNext(nextGate(initialGate, down, 3), defaultTimings)).toBe(200);
    expect(delayBeforeNext(healthy, defaultTimings)).toBe(1000);
    expect(delayBeforeNext({ ...healthy, phase: 'unhealthy' }, defaultTimings)).toBe(1000);
  });

  it('keeps what the last probe said', () => {
    expect(nextGate(initialGate, down, 3)).toEqual({ phase: 'starting', failures: 1, detail: 'refused' });
  });
});
