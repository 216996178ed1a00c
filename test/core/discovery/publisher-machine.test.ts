import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Effect,
  initialMachine,
  type Machine,
  type PublisherEvent,
  publicState,
  sameTarget,
  step,
  wanted,
} from '../../../src/core/discovery/publisher-machine.js';

const record = (revision: bigint | null): PublisherEvent => ({ type: 'pause-record', revision });
const start: PublisherEvent = { type: 'start' };
const stop: PublisherEvent = { type: 'stop' };
const done: PublisherEvent = { type: 'done' };
const failed: PublisherEvent = { type: 'failed', next: 'cool-down' };
const lost: PublisherEvent = { type: 'lease-lost' };
const waited: PublisherEvent = { type: 'waited' };

function run(events: readonly PublisherEvent[]): { machine: Machine; effects: string[] } {
  let machine = initialMachine;
  const effects: string[] = [];
  const name = (effect: Effect) =>
    'goal' in effect ? `${effect.do} ${effect.goal.rotation}` : effect.do === 'wait' ? `wait ${effect.how}` : effect.do;
  for (const event of events) {
    const [next, produced] = step(machine, event);
    machine = next;
    effects.push(...produced.map(name));
  }
  return { machine, effects };
}

describe('a publisher', () => {
  it.each<[string, PublisherEvent[], string[], string]>([
    ['registers', [start, done], ['register in'], 'registered'],
    ['starts paused when a record is there', [record(5n), start, done], ['register out'], 'paused'],
    [
      'paused twice is paused once',
      [start, done, record(5n), done, record(5n)],
      ['register in', 'register out'],
      'paused',
    ],
    [
      'acknowledges a second record',
      [start, done, record(5n), done, record(6n), done],
      ['register in', 'register out', 'repair out'],
      'paused',
    ],
    [
      'resumed twice is resumed once',
      [start, done, record(5n), done, record(null), done, record(null)],
      ['register in', 'register out', 'register in'],
      'registered',
    ],
    ['resumed without a pause does nothing', [start, done, record(null)], ['register in'], 'registered'],
    ['paused and resumed while registering', [start, record(5n), record(null), done], ['register in'], 'registered'],
    ['paused while registering', [start, record(5n), done, done], ['register in', 'register out'], 'paused'],
    [
      'losing its lease, waits a random moment',
      [start, done, lost, waited, done],
      ['register in', 'wait stagger', 'register in'],
      'registered',
    ],
    [
      'failing to recover, cools down',
      [start, done, lost, waited, failed, waited, done],
      ['register in', 'wait stagger', 'register in', 'wait cool-down', 'register in'],
      'registered',
    ],
    [
      'paused while recovering',
      [start, done, lost, record(5n), waited, done],
      ['register in', 'wait stagger', 'register out'],
      'paused',
    ],
    [
      'stopped while recovering, breaks off the wait',
      [start, done, lost, stop, done],
      ['register in', 'wait stagger', 'cancel', 'release'],
      'stopped',
    ],
    [
      'stopped while registering, releases what came of it',
      [start, stop, done, done],
      ['register in', 'cancel', 'release'],
      'stopped',
    ],
    ['stopped twice', [start, done, stop, stop, done, stop], ['register in', 'release'], 'stopped'],
    ['stopped before it started', [stop, start], [], 'stopped'],
    ['puts back a deleted key', [start, done, { type: 'damaged' }, done], ['register in', 'repair in'], 'registered'],
    [
      'finding its lease gone at that, registers anew',
      [start, done, { type: 'damaged' }, { type: 'failed', next: 'lease-lost' }, waited, done],
      ['register in', 'repair in', 'wait stagger', 'register in'],
      'registered',
    ],
    [
      'withdrawn by its process, then paused by an operator, then healthy',
      [start, done, { type: 'withdraw', reason: 'sick' }, done, record(5n), done, { type: 'withdraw', reason: null }],
      ['register in', 'register out', 'repair out'],
      'paused',
    ],
    [
      'ends when told that it has lost its place',
      [start, done, { type: 'damaged' }, { type: 'failed', next: 'stop' }, done],
      ['register in', 'repair in', 'release'],
      'stopped',
    ],
  ])('%s', (_, events, effects, state) => {
    const { machine, effects: produced } = run(events);
    expect(produced).toEqual(effects);
    expect(publicState(machine)).toBe(state);
  });

  it('settles in the last wish, whatever happened on the way, and never does two things at once', () => {
    const happening = fc.oneof(
      fc.constantFrom(record(null), record(5n), record(6n), lost, { type: 'damaged' } as const),
      fc.constantFrom<PublisherEvent>({ type: 'withdraw', reason: 'sick' }, { type: 'withdraw', reason: null }),
      fc.constantFrom('ok' as const, 'fail' as const, 'gone' as const),
    );
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 40 }), fc.boolean(), (happenings, stops) => {
        let machine = initialMachine;
        let calls = 0;
        let waits = 0;
        const feed = (event: PublisherEvent) => {
          const [next, effects] = step(machine, event);
          machine = next;
          for (const effect of effects) {
            if (effect.do === 'wait') waits++;
            else if (effect.do === 'cancel') waits = 0;
            else calls++;
          }
          expect(calls + waits).toBeLessThanOrEqual(1);
        };
        const work = (how: 'ok' | 'fail' | 'gone') => {
          if (calls > 0) {
            calls--;
            const releasing = machine.doing === 'releasing';
            feed(
              how === 'ok' || releasing ? done : { type: 'failed', next: how === 'fail' ? 'cool-down' : 'lease-lost' },
            );
          } else if (waits > 0) {
            waits--;
            feed(waited);
          }
        };
        feed(start);
        for (const one of happenings) {
          if (typeof one === 'string') work(one);
          else feed(one);
        }
        if (stops) feed(stop);
        for (let turn = 0; turn < 10; turn++) work('ok');
        expect(machine.doing).toBe('nothing');
        if (stops) expect(machine).toMatchObject({ ended: true, held: null });
        else expect(sameTarget(machine.held, wanted(machine))).toBe(true);
      }),
    );
  });
});
