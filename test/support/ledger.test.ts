import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TrueEvent } from './etcd-truth.js';
import { account, foldLines, type Line, parseLine } from './ledger.js';

const line = (type: string, revision: number, id = '', more: Partial<Line> = {}): Line => ({
  ...{ type, revision: BigInt(revision), cause: '', admin: id === '' ? '' : 'up', lease: null },
  ...{ key: id === '' ? '' : `s/${id}`, address: id === '' ? '' : `10.0.0.1:${id}`, ...more },
});
const event = (type: 'put' | 'delete', revision: number, id: string, value = 'v'): TrueEvent => ({
  ...{ type, key: `s/${id}`, value: Buffer.from(type === 'put' ? value : ''), lease: 0n },
  ...{ revision: BigInt(revision), heardAt: 0 },
});

describe('the sum of the lines', () => {
  test('is what a reader knows after them', () => {
    const folded = foldLines([
      ...[line('SNAPSHOT', 5, '1'), line('SNAPSHOT', 5, '2'), line('SYNCED', 5), line('ADDED', 6, '3')],
      ...[line('STALE', 6), line('LIVE', 6), line('REMOVED', 7, '1'), line('PAUSED', 8, '2', { admin: 'paused' })],
    ]);
    expect(folded.contradictions).toEqual([]);
    expect([...folded.instances]).toEqual([
      ['s/2', { address: '10.0.0.1:2', admin: 'paused', lease: null }],
      ['s/3', { address: '10.0.0.1:3', admin: 'up', lease: null }],
    ]);
    expect(folded).toMatchObject({ isSynced: true, isStale: false, resyncs: 0 });
  });

  test.each([
    ['an addition of what is there', [line('ADDED', 6, '1')]],
    ['a removal of what is not', [line('REMOVED', 6, '9')]],
    ['a change of what is not', [line('CHANGED', 6, '9')]],
    ['a revision that goes back', [line('ADDED', 7, '2'), line('ADDED', 6, '3')]],
    ['a second snapshot', [line('SNAPSHOT', 5, '2')]],
    ['stale twice', [line('STALE', 5), line('STALE', 5)]],
    ['live when it never was stale', [line('LIVE', 5)]],
  ])('%s is a contradiction', (_, more) => {
    expect(foldLines([line('SNAPSHOT', 5, '1'), line('SYNCED', 5), ...more]).contradictions).toHaveLength(1);
  });

  test('a revision may go back over a RESYNC: etcd was wiped', () => {
    const lines = [line('SYNCED', 50), line('ADDED', 51, '1'), line('RESYNC', 3), line('ADDED', 3, '2')];
    expect(foldLines(lines).contradictions).toEqual([]);
  });
});

describe('the account', () => {
  const history = [event('put', 2, '1'), event('put', 3, '2'), event('delete', 4, '1'), event('put', 5, '1')];

  test('balances when each event has its line', () => {
    const lines = [line('ADDED', 3, '2'), line('REMOVED', 4, '1'), line('ADDED', 5, '1')];
    expect(account(history, lines, 2n)).toEqual({ missing: [], invented: [], told: 3, covered: 0 });
  });

  test('names an event without a line, and a line without an event', () => {
    const lines = [line('ADDED', 3, '2'), line('ADDED', 5, '1'), line('ADDED', 5, '1'), line('ADDED', 6, '7')];
    expect(account(history, lines, 2n)).toEqual({
      missing: ['delete s/1 at 4'],
      invented: ['ADDED s/1 at 5', 'ADDED s/7 at 6'],
      told: 2,
      covered: 0,
    });
  });

  test('a RESYNC covers what came up to its revision, and its differences are no inventions', () => {
    const lines = [line('RESYNC', 5), line('ADDED', 5, '2'), line('CHANGED', 5, '1')];
    expect(account(history, lines, 2n)).toEqual({ missing: [], invented: [], told: 0, covered: 3 });
    expect(account([...history, event('put', 6, '8')], lines, 2n).missing).toEqual(['put s/8 at 6']);
  });

  test('a put that changes nothing needs no line, one that changes the value does', () => {
    const puts = [event('put', 2, '1', 'a'), event('put', 3, '1', 'a'), event('put', 4, '1', 'b')];
    expect(account(puts, [], 2n).missing).toEqual(['put s/1 at 4']);
  });

  test('a line of the wrong kind accounts for nothing', () => {
    expect(account([event('put', 3, '1')], [line('REMOVED', 3, '1')], 2n)).toMatchObject({
      missing: ['put s/1 at 3'],
      invented: ['REMOVED s/1 at 3'],
    });
  });

  test('whatever is left out of a complete report is missed, and nothing else is', () => {
    const history = fc.array(fc.tuple(fc.constantFrom('1', '2', '3'), fc.boolean()), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(history, fc.func(fc.boolean()), (steps, drop) => {
        const there = new Set<string>();
        const events: TrueEvent[] = [];
        for (const [id, isPut] of steps) {
          if (!isPut && !there.has(id)) continue;
          events.push(event(isPut ? 'put' : 'delete', events.length + 2, id, String(events.length)));
          if (isPut) there.add(id);
          else there.delete(id);
        }
        const told = events.filter((e) => !drop(e.revision));
        const lines = told.map(({ type, key, revision }) =>
          line(type === 'put' ? 'CHANGED' : 'REMOVED', Number(revision), key.slice(2)),
        );
        const result = account(events, lines, 1n);
        expect(result.invented).toEqual([]);
        expect(result.missing).toHaveLength(events.length - told.length);
        expect(result.told).toBe(told.length);
      }),
    );
  });
});

test('a line that breaks the JSON contract is refused', () => {
  expect(() => parseLine('{"type":"ADDED","revision":5}')).toThrow('Odd line');
  const text = '{"schemaVersion":1,"type":"SYNCED","revision":"9007199254740993","address":null,"instance":null}';
  expect(parseLine(text).revision).toBe(9007199254740993n);
});
