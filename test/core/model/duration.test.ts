import { expect, test } from 'vitest';
import { parseDuration, parseTimeout } from '../../../src/core/model/duration.js';

test('a timeout is a duration that a timer can run', () => {
  expect(parseTimeout('1m30s', '--timeout')).toBe(90_000);
  expect(parseTimeout('0', '--timeout')).toBe(0);
  expect(parseTimeout('24d', '--timeout')).toBe(parseDuration('24d'));
});

test.each(['25d', `${'9'.repeat(400)}d`, 'x', '', '-1s'])('%j is refused, and the flag named', (text) => {
  expect(() => parseTimeout(text, '--drain-delay')).toThrow(
    expect.objectContaining({ code: 'USAGE', message: expect.stringContaining(`--drain-delay "${text}"`) }),
  );
});
