import { expect, test } from 'vitest';
import { type AddressFigures, unknownFigures } from '../../../src/core/dashboard/feed.js';
import { Verdicts } from '../../../src/core/dashboard/probe/verdicts.js';
import { ManualClock } from '../../support/manual-clock.js';

const address = '10.0.0.1:80';

function probed() {
  const clock = new ManualClock();
  const verdicts = new Verdicts(clock);
  return {
    clock,
    answer: (said = 'SERVING') => {
      verdicts.answered(address);
      if (said !== 'SERVING') verdicts.wrong(address, said);
    },
    shown: (of: Partial<AddressFigures> = {}) => {
      const known = { ...unknownFigures, health: 'healthy', errorRate: 0, ...of } as const;
      return verdicts.appliedTo(new Map([[address, known]])).get(address);
    },
  };
}

test('errors are the share of the wrong answers in the last ten seconds, health is the last answer', async () => {
  const { clock, answer, shown } = probed();
  answer('NOT_SERVING');
  answer();
  await clock.advance(4000);
  answer();
  answer('NOT_SERVING');
  expect(shown()).toMatchObject({ health: 'unhealthy', errorRate: 0.5 });
  answer();
  expect(shown()).toMatchObject({ health: 'healthy', errorRate: 0.4 });
  await clock.advance(6500);
  expect(shown()).toMatchObject({ health: 'healthy', errorRate: 1 / 3 });
  // Beside the calls that failed.
  expect(shown({ errorRate: 0.5 })?.errorRate).toBeCloseTo(5 / 6, 9);
  await clock.advance(10_000);
  expect(shown({ errorRate: null })).toMatchObject({ health: 'healthy', errorRate: null });
});

test('what an answer says is counted instead of its OK, and beside a code of the same name', () => {
  const { answer, shown } = probed();
  expect(shown({ codes: { OK: 3 } })?.codes).toEqual({ OK: 3 });
  answer('UNKNOWN');
  answer('NOT_SERVING');
  expect(shown({ codes: { OK: 3, UNKNOWN: 4 } })?.codes).toEqual({ OK: 1, UNKNOWN: 5, NOT_SERVING: 1 });
  expect(shown({ codes: { OK: 2 } })?.codes).toEqual({ UNKNOWN: 1, NOT_SERVING: 1 });
});
