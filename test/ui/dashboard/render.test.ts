import fc from 'fast-check';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import type { Frame, Row } from '../../../src/core/dashboard/frame.js';
import { keyBindings } from '../../../src/ui/dashboard/keys.js';
import { styleFor } from '../../../src/ui/dashboard/look.js';
import { reduce } from '../../../src/ui/dashboard/reducer.js';
import { render } from '../../../src/ui/dashboard/render.js';
import { initialState } from '../../../src/ui/dashboard/state.js';
import { measureWith } from '../../../src/ui/dashboard/text.js';
import { syntheticFrame, syntheticRow } from '../../support/synthetic-dashboard.js';

const around = {
  command: (action: string, { address }: Row) => `lbctl ${action} greeter.rpc ${address} --reason "a longer one"`,
  canAct: true,
  views: () => [],
};

interface Shown {
  readonly columns?: number;
  readonly rows?: number;
  readonly keys?: readonly string[];
  readonly hints?: readonly string[];
  readonly hasColours?: boolean;
  readonly isReplay?: boolean;
  readonly isEnded?: boolean;
}

function screen(
  frame: Frame | null,
  { columns = 80, rows = 24, keys = [], hints = [], hasColours = false, isReplay = false, isEnded = false }: Shown = {},
) {
  let state = initialState(
    {
      opening: { service: 'greeter.rpc', context: 'http://etcd:2379', source: 'observers', isReplay },
      hints,
      intervalMs: 1000,
    },
    { columns, rows },
  );
  if (frame !== null) state = reduce(state, { kind: 'frame', frame, isSample: true }, around).state;
  for (const key of keys) state = reduce(state, { kind: 'input', input: { kind: 'key', key } }, around).state;
  if (isEnded) state = reduce(state, { kind: 'ended' }, around).state;
  return render(state, { width: measureWith(stringWidth), style: styleFor(hasColours) });
}

const busy = syntheticRow(1, {
  callsPerSecond: 120,
  share: 0.4,
  errorRate: 0.02,
  ewmaMs: 5,
  isEwmaBound: true,
  load: 2236,
});
const frame = syntheticFrame([busy, syntheticRow(2, { state: 'paused' }), syntheticRow(3, { health: 'ejected' })]);

describe('a frame', () => {
  const sizes = fc.record({ columns: fc.integer({ min: 1, max: 220 }), rows: fc.integer({ min: 1, max: 60 }) });
  const anything = fc.string({ unit: 'binary', maxLength: 60 });

  it('is at most one line lower than the terminal and never wider, whatever the texts', () => {
    const mode = fc.constantFrom([], ['enter'], ['?'], ['d'], ['/', 'x'], ['y']);
    fc.assert(
      fc.property(sizes, anything, fc.nat(80), mode, (size, text, count, keys) => {
        const rows = Array.from({ length: count }, (_, i) => syntheticRow(i, { address: `${i}${text}`, zone: text }));
        const notices = [text, text, text, text, text];
        const lines = screen(syntheticFrame(rows, { service: text, notices }), { ...size, keys, hints: [text] });
        expect(lines.length).toBeLessThanOrEqual(Math.max(1, size.rows - 1));
        for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(size.columns);
      }),
    );
  });

  it('lets nothing from outside move the cursor or colour the screen', () => {
    fc.assert(
      fc.property(anything, fc.constantFrom([], ['enter'], ['d'], ['y']), (text, keys) => {
        const row = syntheticRow(1, { address: text, name: text, zone: text, codes: { [text]: 1 } });
        const lines = screen(syntheticFrame([row], { service: text, context: text, policy: text, notices: [text] }), {
          keys,
        });
        expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it('keeps columns in line beside wide, composed and combining characters', () => {
    const rows = ['服务器:80', '😀😀:80', 'a\u0301b:80', 'ascii:80'].map((address, i) => syntheticRow(i, { address }));
    const lines = screen(syntheticFrame(rows)).filter((line) => line.includes('healthy'));
    expect(lines).toHaveLength(4);
    expect(new Set(lines.map((line) => stringWidth(line.slice(0, line.indexOf('healthy'))))).size).toBe(1);
  });
});

describe('the table', () => {
  it('shows the figures of an instance', () => {
    const [first, second] = screen(frame, { columns: 130 }).filter((text) => text.includes('10.0.0.'));
    expect(first?.trim().split(/ +/)).toEqual(
      '> 10.0.0.1:8080 up healthy 1 2236 - 120 40.0% 2.0% ≤5.0ms - █ 7/10s'.split(' '),
    );
    expect(second).toMatch(/10\.0\.0\.2:8080 +paused/);
  });

  it.each([
    [200, 'TTL'],
    [110, 'TREND'],
    [100, 'P99'],
    [80, 'ERR%'],
    [60, 'INFLIGHT'],
    [40, 'WEIGHT'],
  ])('of %d columns goes as far as %s', (columns, last) => {
    const titles = screen(frame, { columns }).find((line) => line.includes('STATE'));
    expect(titles?.trim().split(/ +/).at(-1)).toBe(last);
  });

  it('cuts a long address in its middle', () => {
    const row = syntheticRow(1, { address: 'a-very-long-host-name.in.some.namespace.svc.cluster.local:8080' });
    const line = screen(syntheticFrame([row]), { columns: 60 }).find((text) => text.startsWith('> '));
    expect(line).toMatch(/^> a-very-\S*…\S*:8080 /);
  });

  it('marks the column and the way it is sorted', () => {
    const titles = (...keys: string[]) => screen(frame, { columns: 130, keys }).find((line) => line.includes('STATE'));
    expect(titles()).toContain('ADDRESS^');
    expect(titles('r')).toContain('RPSv');
    expect(titles('r', 'R')).toContain('RPS^');
  });

  it('says why it is empty', () => {
    expect(screen(syntheticFrame([])).join('\n')).toContain('no instances');
    expect(screen(frame, { keys: ['/', 'z'] }).join('\n')).toContain('no instance matches');
    expect(screen(null).join('\n')).toContain('waiting for the first figures');
  });
});

describe('the header', () => {
  it('says whose figures of what, in which state', () => {
    const lines = screen(frame);
    expect(lines[0]).toBe('greeter.rpc · http://127.0.0.1:2379 · p2c_ewma');
    expect(lines[1]).toBe('3 observers · every 1s · skew 1.25 · 3 instances');
    expect(screen(syntheticFrame([], { view: 'web' }))[1]).toContain('observer web (one of 3)');
  });

  it('says STALE and FROZEN in words, first, in every size', () => {
    for (const [columns, rows] of [
      [200, 50],
      [80, 24],
      [40, 8],
      [30, 6],
    ] as const) {
      const lines = screen(syntheticFrame([busy], { staleForMs: 12_400 }), { columns, rows, keys: ['space'] });
      expect(lines[0]).toMatch(/^STALE 12s · FROZEN/);
    }
  });

  it('shows the worst notices, and how many more there are', () => {
    const lines = screen(syntheticFrame([], { notices: ['one', 'two', 'three', 'four', 'five'] }));
    expect(lines.slice(2, 5)).toEqual(['! one', '! two', '! three (+2 more)']);
  });
});

describe('what is not live', () => {
  const recorded = { ...frame, at: '2026-11-30T13:01:02.345Z', source: 'probe', observers: null } as const;

  it('is told apart: a recording with its time, whatever it was made from, and its end', () => {
    expect(screen(recorded, { isReplay: true })[0]).toMatch(/^REPLAY 2026-11-30 13:01:02Z · greeter/);
    expect(screen(recorded, { isReplay: true })[1]).toMatch(/^probe · /);
    expect(screen(recorded, { isReplay: true, isEnded: true })[0]).toMatch(/^REPLAY 2026-11-30 13:01:02Z ended · /);
    expect(screen(recorded, { isEnded: true })[0]).toMatch(/^ENDED · greeter/);
    expect(screen(recorded)[0]).toMatch(/^greeter/);
  });

  it('says by what it is sorted, also by a column that has no room', () => {
    expect(screen(frame, { columns: 60, keys: ['m'] })[1]).toContain('sort EWMA');
    expect(screen(frame, { columns: 60, keys: ['m', 'R'] })[1]).toContain('sort EWMA, reversed');
    expect(screen(frame)[1]).not.toContain('sort');
  });

  it('an instance that cannot be read has no address: its key stands there', () => {
    const text = screen(syntheticFrame([syntheticRow(0, { address: '', name: 'k-7' })]), { columns: 120 }).join('\n');
    expect(text).toMatch(/\(unparsed\) k-7 +- /);
  });
});

describe('other views', () => {
  it('help shows every key', () => {
    const all = screen(frame, { rows: 60, keys: ['?'] }).join('\n');
    for (const { words } of keyBindings) expect(all).toContain(words);
  });

  it('the question shows the whole command, however narrow', () => {
    const lines = screen(frame, { columns: 40, rows: 8, keys: ['d'] });
    expect(lines.join(' ').replaceAll(/ +/g, ' ')).toContain(
      'lbctl drain greeter.rpc 10.0.0.1:8080 --reason "a longer one"',
    );
    expect(lines.at(-1)).toContain('y does it');
  });

  it('the detail shows history, codes, ring share and picks', () => {
    const detail = {
      id: 'id-1',
      history: [{ id: 'id-1', at: '2026-01-02T03:00:00.123Z', text: 'paused by ann: deploy' }],
      ringShare: 0.25,
      trace: [
        {
          at: '2026-01-02T03:04:05Z',
          compared: [
            { address: 'a:1', load: 10, inFlight: 0 },
            { address: 'b:1', load: 20, inFlight: 1 },
          ],
          chosen: 'b:1',
          isForced: true,
        },
      ],
      readings: [{ inFlight: 1, ewmaMs: 1.25 }],
    };
    const row = { ...busy, codes: { OK: 5, UNAVAILABLE: 7 } };
    const text = screen(syntheticFrame([row], { detail }), { columns: 120, keys: ['enter'] }).join('\n');
    expect(text).toContain('2026-01-02 03:00:00Z  paused by ann: deploy');
    expect(text).toContain('UNAVAILABLE 7  OK 5');
    expect(text).toContain('lease 7/10s');
    expect(text).toMatch(/ring share +25.0%/);
    expect(text).toContain('which is 1.3ms with 1 in flight');
    expect(text).toContain(
      'b:1 (load 20, 1 in flight) over a:1 (load 10, 0 in flight), because it had not been picked',
    );
  });

  it('hints stand below the table where there is room for all of them', () => {
    expect(screen(frame, { hints: ['try this'] }).at(-2)).toBe('try this');
    expect(screen(frame, { rows: 10, hints: ['try this', 'and that', 'or that'] }).join()).not.toContain('try this');
  });

  it('one line is left of a small terminal', () => {
    expect(screen(frame, { columns: 39, rows: 6 })).toEqual(['2/3 up · 120/s · 2.0% err · greeter.rpc']);
  });
});

describe('colours', () => {
  const line = (text: string, rows: readonly Row[], changes = {}) =>
    screen(syntheticFrame(rows, changes), { columns: 130, hasColours: true }).find((shown) => shown.includes(text));
  const rows = [syntheticRow(0), syntheticRow(1, { state: 'paused' }), { ...busy, id: 'b', address: 'b:1' }];

  it('turn the row under the cursor around, dim what is paused, and redden errors', () => {
    expect(line('10.0.0.0', rows)?.startsWith('\x1b[7m> ')).toBe(true);
    expect(line('10.0.0.1', rows)?.startsWith('\x1b[2m')).toBe(true);
    expect(line('b:1', rows)).toMatch(/\x1b\[31m +2\.0%\x1b\[39m/);
    expect(line('b:1', rows, { staleForMs: 5000 })?.startsWith('\x1b[2m')).toBe(true);
  });

  it('are left out when they are not wanted', () => {
    expect(screen(frame).join('')).not.toContain('\x1b');
  });
});
