import { describe, expect, test } from 'vitest';
import { type DashboardFlags, dashboardRequest } from '../../../src/cli/dashboard/request.js';

const read = (service: string | undefined, flags: Partial<DashboardFlags> = {}) =>
  dashboardRequest(service, { interval: '1s', write: false, ...flags });

describe('what a dashboard shows', () => {
  test('is a probe, or what is asked for', () => {
    expect(read('s').input).toEqual({ kind: 'probe', service: 's', callsPerSecond: null });
    expect(read('s', { 'probe-rate': '2.5' }).input).toMatchObject({ callsPerSecond: 2.5 });
    expect(read('s', { source: 'observers' }).input).toEqual({ kind: 'observers', service: 's', observer: null });
    expect(read('s', { observer: 'shop' }).input).toEqual({ kind: 'observers', service: 's', observer: 'shop' });
    expect(read(undefined, { log: ['a', '-', 'a'] }).input).toEqual({
      kind: 'log',
      service: null,
      files: ['a'],
      stdin: true,
    });
    expect(read('s', { log: ['a'], write: true })).toMatchObject({ input: { service: 's' }, write: true });
    expect(read(undefined, { replay: 'f', duration: '5s' })).toMatchObject({ input: { file: 'f' }, durationMs: 5000 });
  });

  test.each<[string | undefined, Partial<DashboardFlags>]>([
    [undefined, {}],
    [undefined, { source: 'probe' }],
    ['s', { replay: 'f' }],
    [undefined, { replay: 'f', log: ['a'] }],
    [undefined, { replay: 'f', record: 'g' }],
    [undefined, { replay: 'f', write: true }],
    [undefined, { replay: 'f', source: 'probe' }],
    ['s', { log: ['a'], source: 'observers' }],
    ['s', { log: ['a'], observer: 'x' }],
    ['s', { log: ['a'], 'probe-rate': '1' }],
    [undefined, { log: ['a'], write: true }],
    [undefined, { log: [''] }],
    ['s', { source: 'probe', observer: 'x' }],
    ['s', { source: 'observers', 'probe-rate': '1' }],
    ['s', { 'probe-rate': '0' }],
    ['s', { 'probe-rate': 'many' }],
    ['s', { interval: '99ms' }],
    ['s', { interval: '61s' }],
    ['s', { interval: 'soon' }],
    ['s', { duration: '0' }],
  ])('is refused where it cannot be: %s %j', (service, flags) => {
    expect(() => read(service, flags)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });
});
