import { describe, expect, it } from 'vitest';
import { columns, compact, milliseconds, percent } from '../../../src/ui/dashboard/columns.js';
import { sparkline } from '../../../src/ui/dashboard/sparkline.js';
import { recordTrends, type Trends, trendLength } from '../../../src/ui/dashboard/trends.js';
import { syntheticRow } from '../../support/synthetic-dashboard.js';

const cell = (title: string, changes: Parameters<typeof syntheticRow>[1]) =>
  columns.find((column) => column.title === title)?.value(syntheticRow(1, changes));

describe('columns', () => {
  it('stand in the order that the specification gives', () => {
    expect(columns.map(({ title }) => title).join(' ')).toBe(
      'ADDRESS STATE HEALTH WEIGHT LOAD INFLIGHT RPS SHARE ERR% EWMA P99 TREND TTL',
    );
  });

  it('show what is unknown as -, and a zero as 0', () => {
    const unknown = syntheticRow(1, { state: null, health: null, weight: null, lease: null });
    expect(columns.slice(1).map((column) => column.value(unknown))).toEqual(columns.slice(1).map(() => '-'));
    expect(cell('RPS', { callsPerSecond: 0 })).toBe('0');
    expect(cell('ERR%', { errorRate: 0 })).toBe('0.0%');
  });

  it('show that an EWMA is an upper bound', () => {
    expect(cell('EWMA', { ewmaMs: 5, isEwmaBound: true })).toBe('≤5.0ms');
    expect(cell('EWMA', { ewmaMs: 5 })).toBe('5.0ms');
    expect(cell('EWMA', { ewmaMs: null, isEwmaBound: true })).toBe('-');
  });

  it.each([
    [compact, 0.004, '<0.01'],
    [compact, 0.25, '0.25'],
    [compact, 2236, '2236'],
    [compact, 99.96, '100'],
    [compact, 123_456, '123k'],
    [compact, 999_600, '1.0M'],
    [percent, 0.0001, '<0.1%'],
    [percent, 0.9999, '100%'],
    [percent, 0.2, '20.0%'],
    [milliseconds, 0.01, '<0.1ms'],
    [milliseconds, 99.96, '100ms'],
    [milliseconds, 12_345, '12.3s'],
  ])('%o: %d is %s', (format, value, text) => {
    expect(format(value)).toBe(text);
  });

  it('are wide enough for their figures', () => {
    for (const value of [0, 0.001, 0.5, 3.3, 99.97, 1234.5, 99_999.6, 999_499, 1e6, 12_345_678, 9.99e9, 5e11]) {
      expect(compact(value).length).toBeLessThanOrEqual(6);
      expect(milliseconds(Math.min(value, 9e6)).length).toBeLessThanOrEqual(6);
    }
  });
});

describe('trend', () => {
  it('draws blocks from 0 to the greatest, unknown as blank, on the right', () => {
    expect(sparkline([0, 1, 4, null, 8], 6)).toBe(' ▁▁▄ █');
    expect(sparkline([0, 0], 2)).toBe('▁▁');
    expect(sparkline([1, 2, 3], 2)).toBe('▆█');
  });

  it('keeps the last values of the rows that are there, and forgets the others', () => {
    let trends: Trends = new Map();
    for (let value = 0; value < 3 * trendLength; value++) {
      trends = recordTrends(trends, [
        { id: 'a', callsPerSecond: value },
        { id: `b${value}`, callsPerSecond: 1 },
      ]);
    }
    expect([...trends.keys()]).toEqual(['a', `b${3 * trendLength - 1}`]);
    expect(trends.get('a')).toEqual(Array.from({ length: trendLength }, (_, i) => 2 * trendLength + i));
  });
});
