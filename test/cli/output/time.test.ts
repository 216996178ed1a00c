import { expect, test } from 'vitest';
import { age, relativeTime } from '../../../src/cli/output/time.js';

const now = Date.parse('2026-03-01T12:00:00Z');

test('an age is how long ago; a clock that runs ahead gives 0s; no time gives -', () => {
  expect(age('2026-03-01T11:55:00Z', now)).toBe('5m');
  expect(age('2026-03-01T12:00:30Z', now)).toBe('0s');
  expect(age(null, now)).toBe('-');
  expect(age('soon', now)).toBe('-');
});

test('a relative time says which way', () => {
  expect(relativeTime('2026-03-01T11:00:00Z', now)).toBe('1h ago');
  expect(relativeTime('2026-03-01T12:10:00Z', now)).toBe('in 10m');
  expect(relativeTime('', now)).toBe('-');
});
