import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Row } from '../../../src/core/dashboard/frame.js';
import { keyBindings } from '../../../src/ui/dashboard/keys.js';
import { tableHeight } from '../../../src/ui/dashboard/layout.js';
import { type Effect, type Event, reduce, type Surroundings } from '../../../src/ui/dashboard/reducer.js';
import { initialState, type State } from '../../../src/ui/dashboard/state.js';
import { syntheticFrame, syntheticRow } from '../../support/synthetic-dashboard.js';

/** The dashboard without a terminal: keys in, state and effects out. */
class Bench {
  state: State = initialState(
    { opening: { service: 's', context: 'c', source: 'observers', isReplay: false }, hints: [], intervalMs: 1000 },
    { columns: 80, rows: 24 },
  );
  effects: Effect[] = [];
  readonly #around: Surroundings;

  constructor(canAct = true, views: readonly string[] = []) {
    this.#around = { command: (action, row) => `lbctl ${action} s ${row.address}`, canAct, views: () => views };
  }

  send(event: Event): this {
    const { state, effects } = reduce(this.state, event, this.#around);
    this.state = state;
    this.effects.push(...effects);
    return this;
  }

  rows(...rows: readonly Row[]): this {
    return this.send({ kind: 'frame', frame: syntheticFrame(rows), isSample: true });
  }

  keys(...keys: readonly string[]): this {
    for (const key of keys) this.send({ kind: 'input', input: { kind: 'key', key } });
    return this;
  }

  get order(): string {
    return this.state.visible.map((row) => row.id.slice(3)).join(' ');
  }
}

const row = syntheticRow;
const five = [0, 1, 2, 3, 4].map((index) => row(index, { callsPerSecond: [5, null, 7, 0, 9][index] ?? null }));

describe('keys', () => {
  it('has no key with two meanings', () => {
    const keys = keyBindings.flatMap((binding) => binding.keys);
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe('the cursor', () => {
  it('follows the instance through sorting, filtering and refreshing', () => {
    const bench = new Bench().rows(...five).keys('j', 'j');
    expect(bench.state.cursor).toBe('id-2');
    expect(bench.keys('r').state.cursor).toBe('id-2');
    expect(bench.order).toBe('4 2 0 3 1');
    bench.keys('/', '.', '2', ':', 'enter');
    expect([bench.order, bench.state.cursor]).toEqual(['2', 'id-2']);
    bench.keys('escape').rows(row(9), ...five);
    expect(bench.state.cursor).toBe('id-2');
  });

  it.each([
    ['the next below', ['j', 'j'], [0, 1, 3, 4], 'id-3'],
    ['the one above where it was the last', ['G'], [0, 1, 2, 3], 'id-3'],
    ['none where none is left', ['j'], [], null],
  ])('moves to %s when its row leaves', (_what, keys: string[], left: number[], cursor) => {
    const bench = new Bench().rows(...five).keys(...keys);
    bench.rows(...five.filter((_, index) => left.includes(index)));
    expect(bench.state.cursor).toBe(cursor);
  });

  it('is always on a visible row and in sight, whatever happens', () => {
    const event = fc.oneof(
      fc
        .constantFrom('j', 'k', 'pageup', 'pagedown', 'g', 'G', 's', 'R', 'r', 'escape', 'enter', '?', 'space')
        .map((key): Event => ({ kind: 'input', input: { kind: 'key', key } })),
      fc
        .uniqueArray(fc.nat(60))
        .map((ids): Event => ({ kind: 'frame', frame: syntheticFrame(ids.map((id) => row(id))), isSample: true })),
      fc
        .record({ columns: fc.integer({ min: 1, max: 200 }), rows: fc.integer({ min: 1, max: 60 }) })
        .map((size): Event => ({ kind: 'size', size })),
    );
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const bench = new Bench();
        for (const one of events) {
          const { visible, cursor, offset, mode } = bench.send(one).state;
          const at = visible.findIndex(({ id }) => id === cursor);
          expect(cursor === null).toBe(visible.length === 0);
          if (mode.kind !== 'table' || cursor === null) continue;
          expect(at).toBeGreaterThanOrEqual(offset);
          expect(at).toBeLessThan(offset + tableHeight(bench.state));
        }
      }),
    );
  });
});

describe('sorting', () => {
  it('puts what is unknown last both ways', () => {
    const bench = new Bench().rows(...five).keys('r');
    expect(bench.order).toBe('4 2 0 3 1');
    expect(bench.keys('R').order).toBe('3 0 2 4 1');
  });

  it('goes through the columns with s', () => {
    const bench = new Bench().rows(...five);
    const seen = Array.from({ length: 13 }, () => bench.keys('s').state.sort.column);
    expect(seen.slice(0, 2)).toEqual(['ADDRESS', 'STATE']);
    expect(seen.slice(11)).toEqual(['TTL', 'ADDRESS']);
  });
});

describe('filtering', () => {
  it('takes letters as text, and gives back what was with Esc', () => {
    const bench = new Bench().rows(...five).keys('/', 'q', 'd', 'backspace');
    expect([bench.state.filter, bench.effects]).toEqual(['q', []]);
    expect(bench.keys('escape').state.filter).toBe('');
    expect(bench.order).toBe('0 1 2 3 4');
  });

  it('takes a paste on one line', () => {
    const bench = new Bench().rows(...five).keys('/');
    bench.send({ kind: 'input', input: { kind: 'paste', text: '.3:8080\r\n' } });
    expect([bench.state.filter, bench.order]).toEqual(['.3:8080 ', '3']);
  });
});

describe('freezing', () => {
  it('keeps the figures until they are let go', () => {
    const bench = new Bench()
      .rows(...five)
      .keys('space')
      .rows(row(7));
    expect(bench.order).toBe('0 1 2 3 4');
    expect(bench.keys('space').effects.at(-1)).toEqual({ kind: 'refresh' });
    expect(bench.rows(row(7)).order).toBe('7');
  });
});

describe('acting', () => {
  it('asks with the command, and does it after y only', () => {
    const bench = new Bench().rows(...five).keys('j', 'd');
    expect(bench.state.mode).toMatchObject({ kind: 'confirm', command: 'lbctl drain s 10.0.0.1:8080' });
    expect(bench.keys('enter', 'space', 'd').effects).toEqual([]);
    expect(bench.keys('n').state.mode.kind).toBe('table');
    bench.keys('p', 'y');
    expect(bench.effects).toEqual([{ kind: 'run', action: 'pause', row: five[1] }]);
    expect(bench.keys('d').state.message?.isError).toBe(true);
    bench.send({ kind: 'done', text: 'paused', isError: false });
    expect(bench.state).toMatchObject({ running: null, message: { text: 'paused' } });
  });

  it('acts on the instance that was asked about, wherever the cursor went', () => {
    const bench = new Bench()
      .rows(...five)
      .keys('d')
      .rows(...five.slice(2))
      .keys('y');
    expect(bench.effects).toEqual([{ kind: 'run', action: 'drain', row: five[0] }]);
  });

  it('only shows the command without --write', () => {
    const bench = new Bench(false).rows(...five).keys('d');
    expect(bench.state.mode.kind).toBe('table');
    expect(bench.state.message?.text).toMatch(/--write.*lbctl drain s 10\.0\.0\.0:8080/);
  });

  it('does nothing with a paste', () => {
    const bench = new Bench().rows(...five);
    bench.send({ kind: 'input', input: { kind: 'paste', text: 'dyq' } });
    expect([bench.effects, bench.state.mode.kind]).toEqual([[], 'table']);
  });

  it('does not ask where the command cannot be read', () => {
    const bench = new Bench()
      .rows(...five)
      .keys('d')
      .send({ kind: 'size', size: { columns: 30, rows: 6 } });
    expect(bench.state.mode.kind).toBe('table');
    expect(bench.keys('d').state.mode.kind).toBe('table');
  });

  it('remembers the commands that were asked for with y, each once', () => {
    const bench = new Bench(false).rows(row(0), row(1, { state: 'paused' })).keys('y', 'y', 'j', 'y', 'd', 'y');
    expect(bench.state.commands).toEqual([
      'lbctl pause s 10.0.0.0:8080',
      'lbctl resume s 10.0.0.1:8080',
      'lbctl drain s 10.0.0.1:8080',
    ]);
  });
});

describe('other keys', () => {
  it('looks at the instance of the detail view, and away again', () => {
    const bench = new Bench().rows(...five).keys('j', 'enter', '?', 'escape');
    expect(bench.state.mode).toMatchObject({ kind: 'detail', id: 'id-1' });
    bench.keys('escape');
    expect(bench.effects.filter(({ kind }) => kind === 'look')).toEqual([
      { kind: 'look', id: 'id-1' },
      { kind: 'look', id: null },
    ]);
  });

  it('leaves the detail view when the instance leaves, and stops looking', () => {
    const bench = new Bench()
      .rows(...five)
      .keys('enter')
      .rows(...five.slice(1));
    expect(bench.state).toMatchObject({ mode: { kind: 'table' }, message: { text: '10.0.0.0:8080 has left' } });
    expect(bench.effects.at(-1)).toEqual({ kind: 'look', id: null });
  });

  it('goes through the clients and back to all of them', () => {
    const bench = new Bench(true, ['web', 'batch']);
    const select = (view: string | null) => {
      bench.send({ kind: 'frame', frame: syntheticFrame(five, { view }), isSample: true }).keys('o');
      return bench.effects.findLast(({ kind }) => kind === 'select');
    };
    expect([select(null), select('web'), select('batch')]).toEqual([
      { kind: 'select', view: 'web' },
      { kind: 'select', view: 'batch' },
      { kind: 'select', view: null },
    ]);
  });

  it('refreshes between ten times a second and every ten seconds', () => {
    const bench = new Bench();
    expect(bench.keys(...Array(9).fill('+')).state.intervalMs).toBe(100);
    expect(bench.keys(...Array(9).fill('-')).state.intervalMs).toBe(10_000);
  });

  it('ends from every mode with Ctrl-C', () => {
    for (const keys of [[], ['/'], ['enter'], ['?'], ['d']]) {
      const bench = new Bench().rows(...five).keys(...keys, 'ctrl-c');
      expect(bench.effects.at(-1)).toEqual({ kind: 'end', how: 'interrupted' });
    }
  });
});

describe('what is shown', () => {
  const rate = (callsPerSecond: number) => row(0, { callsPerSecond });

  it('of the past goes on while the figures are frozen, and is there afterwards', () => {
    const bench = new Bench().rows(rate(1)).keys('space').rows(rate(2)).rows(rate(3));
    expect(bench.state.shownTrends.get('id-0')).toEqual([1]);
    expect(bench.keys('space').rows(rate(4)).state.shownTrends.get('id-0')).toEqual([1, 2, 3, 4]);
  });

  it('of the past begins anew with another distance between its points', () => {
    const bench = new Bench().rows(rate(1)).rows(rate(2)).keys('+').rows(rate(3));
    expect(bench.state.shownTrends.get('id-0')).toEqual([3]);
  });

  it('of a source that has ended stays, and says so', () => {
    expect(new Bench().rows(rate(1)).send({ kind: 'ended' }).state).toMatchObject({ isEnded: true, cursor: 'id-0' });
  });
});

it('a question is answered by y alone: any other key is a no, and later ones answer nothing', () => {
  const bench = new Bench().rows(...five).keys('p', 's', 'y');
  expect(bench.state.mode).toEqual({ kind: 'table' });
  expect(bench.effects).toEqual([]);
  expect(bench.keys('p', 'y').effects).toMatchObject([{ kind: 'run', action: 'pause' }]);
});
