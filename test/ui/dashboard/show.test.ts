import { afterEach, describe, expect, it } from 'vitest';
import { LbctlError } from '../../../src/core/model/errors.js';
import type { DashboardEnd, DashboardOptions } from '../../../src/ui/dashboard/options.js';
import { showDashboard } from '../../../src/ui/dashboard/show.js';
import { FakeTerminal } from '../../support/fake-terminal.js';
import { SyntheticSource } from '../../support/synthetic-dashboard.js';
import { until } from '../../support/until.js';

// Where CI is set ink draws nothing but its last frame; it looks when it is loaded.
delete process.env.CI;
process.env.FORCE_COLOR = '1';

const ended = new AbortController();
afterEach(() => {
  expect(process.listenerCount('uncaughtExceptionMonitor'), 'listeners left behind').toBe(0);
});

interface Shown {
  readonly terminal: FakeTerminal;
  readonly source: SyntheticSource;
  readonly end: Promise<DashboardEnd>;
}

function show(columns: number, rows: number, options: Partial<DashboardOptions> & { instances?: number } = {}): Shown {
  const terminal = new FakeTerminal(columns, rows);
  const source = new SyntheticSource({ instances: options.instances ?? 5, notices: ['made up'] });
  const end = showDashboard({
    open: async () => source,
    opening: { service: 'greeter.rpc', context: 'made up', source: 'observers', isReplay: false },
    actions: { command: (action, row) => `lbctl ${action} greeter.rpc ${row.address}` },
    intervalMs: 100,
    hints: [],
    stdin: terminal.stdin,
    stdout: terminal.stdout,
    signal: ended.signal,
    ...options,
  });
  return { terminal, source, end };
}

const sees = ({ terminal }: Shown, text: string | RegExp) =>
  until(() => terminal.lines.join('\n').match(text) !== null, 10_000, `"${text}" on the screen`).catch(
    (error: Error) => {
      throw new Error(`${error.message}:\n${terminal.lines.join('\n')}`);
    },
  );

describe('the dashboard in a terminal', () => {
  it.each([
    [200, 50, 'TTL', 44],
    [80, 24, 'ERR%', 18],
    [60, 20, 'INFLIGHT', 14],
  ])('of %dx%d draws the table as far as %s, %d rows of it', async (columns, rows, last, count) => {
    const shown = show(columns, rows, { instances: 60 });
    await sees(shown, /10\.0\.0\.3:8080/);
    const { lines } = shown.terminal;
    expect(lines[0]).toMatch(/^greeter\.rpc · http:\/\/127\.0\.0\.1:2379 · p2c_ewma$/);
    expect(lines[1]).toMatch(/^3 observers · every 0\.1s/);
    expect(lines[2]).toBe('! made up');
    expect(lines[3]?.trim().split(/ +/).at(-1)).toBe(last);
    expect(lines.filter((line) => line.includes(':8080'))).toHaveLength(count);
    expect(lines.at(-2)).toContain('q quit');
    expect(lines.at(-1)).toBe('');
    shown.terminal.type('q');
    expect(await shown.end).toMatchObject({ how: 'quit', commands: [] });
  });

  it('of 30x6 is one line', async () => {
    const shown = show(30, 6);
    await sees(shown, /5\/5 up/);
    expect(shown.terminal.lines.slice(1).join('')).toBe('');
    shown.terminal.type('q');
    await shown.end;
  });

  it('follows every resize, and leaves nothing of the old screen', async () => {
    const shown = show(80, 24, { instances: 60 });
    await sees(shown, /10\.0\.0\.3:8080/);
    for (const [columns, rows] of [
      [30, 6],
      [200, 50],
      [60, 20],
      [120, 9],
      [80, 24],
    ] as const) {
      shown.terminal.resize(columns, rows);
      await sees(shown, columns === 30 ? /60\/60 up/ : /q quit/);
      const height = columns === 30 ? 1 : rows - 1;
      await until(() => shown.terminal.lines.findLastIndex((line) => line !== '') === height - 1, 2000).catch(() => {
        throw new Error(`${columns}x${rows}: not ${height} lines:\n${shown.terminal.lines.join('\n')}`);
      });
      expect(shown.terminal.lines[0]).toMatch(columns === 30 ? /% err/ : /^greeter\.rpc · /);
    }
    shown.terminal.type('q');
    await shown.end;
    expect(shown.terminal.bytes).not.toContain('\x1b[3J');
  });

  it('turns the row under the cursor around, which follows keys in one chunk', async () => {
    const shown = show(130, 24);
    await sees(shown, /10\.0\.0\.3:8080/);
    shown.terminal.type('jj\x1b[Bk');
    await sees(shown, /> 10\.0\.0\.2:8080/);
    const at = shown.terminal.lines.findIndex((line) => line.startsWith('> '));
    expect([shown.terminal.isInverse(at, 3), shown.terminal.isInverse(at + 1, 3)]).toEqual([true, false]);
    shown.terminal.type('q');
    await shown.end;
  });

  it('shows news at once, however slowly it refreshes', async () => {
    const shown = show(80, 24, { intervalMs: 60_000 });
    await sees(shown, /10\.0\.0\.3:8080/);
    shown.source.change(3, { state: 'paused' });
    const took = await sees(shown, /10\.0\.0\.3:8080 +paused/);
    expect(took).toBeLessThan(2000);
    shown.terminal.type('q');
    await shown.end;
  });

  it('answers no question with what was typed along with it', async () => {
    const done: string[] = [];
    const run = async (action: string) => {
      done.push(action);
      return 'it is paused';
    };
    const shown = show(80, 24, { actions: { command: (action) => `lbctl ${action}`, run } });
    await sees(shown, /10\.0\.0\.3:8080/);
    shown.terminal.type('py');
    await sees(shown, /y does it/);
    expect(done).toEqual([]);
    shown.terminal.type('y');
    await sees(shown, /it is paused/);
    expect(done).toEqual(['pause']);
    shown.terminal.type('\x03');
    expect((await shown.end).how).toBe('interrupted');
  });

  it('tells the action under way to stop when it ends, and waits for it', async () => {
    let isStopped = false;
    const run = (_action: string, _row: unknown, signal: AbortSignal) =>
      new Promise<string>((resolve) => {
        signal.addEventListener('abort', () => {
          isStopped = true;
          resolve('stopped');
        });
      });
    const shown = show(80, 24, { actions: { command: (action) => `lbctl ${action}`, run } });
    await sees(shown, /10\.0\.0\.3:8080/);
    shown.terminal.type('d');
    await sees(shown, /y does it/);
    shown.terminal.type('y');
    await sees(shown, /draining 10\.0\.0\.0:8080…/);
    shown.terminal.type('q');
    await shown.end;
    expect(isStopped).toBe(true);
  });
});

describe('the end of the dashboard', () => {
  it('gives the terminal back, closes the source, and hands out the commands', async () => {
    const shown = show(80, 24);
    shown.terminal.stdout.write('before\r\n');
    await sees(shown, /10\.0\.0\.3:8080/);
    expect([shown.terminal.isAlternate, shown.terminal.isRaw]).toEqual([true, true]);
    shown.terminal.type('y');
    await sees(shown, /lbctl pause greeter\.rpc 10\.0\.0\.0:8080/);
    shown.terminal.type('q');
    const { commands, frame } = await shown.end;
    expect(commands).toEqual(['lbctl pause greeter.rpc 10.0.0.0:8080']);
    expect(frame?.rows).toHaveLength(5);
    expect(shown.source.isClosed).toBe(true);
    await until(() => !shown.terminal.isAlternate, 1000);
    expect([shown.terminal.isRaw, shown.terminal.bytes.endsWith('\x1b[?25h\x1b[?1049l')]).toEqual([false, true]);
  });

  it('comes with the signal, and with the terminal', async () => {
    const controller = new AbortController();
    const first = show(80, 24, { signal: controller.signal });
    await sees(first, /10\.0\.0\.3:8080/);
    controller.abort();
    expect((await first.end).how).toBe('ended');
    const second = show(80, 24);
    await sees(second, /10\.0\.0\.3:8080/);
    second.terminal.stdin.emit('end');
    expect((await second.end).how).toBe('ended');
  });

  it('does not wait for a source that does not open, but closes it when it has', async () => {
    let opened: (source: SyntheticSource) => void = () => {};
    const shown = show(80, 24, {
      open: () =>
        new Promise((resolve) => {
          opened = resolve;
        }),
    });
    await sees(shown, /opening…/);
    shown.terminal.type('q');
    expect(await shown.end).toEqual({ how: 'quit', frame: null, commands: [] });
    opened(shown.source);
    await until(() => shown.source.isClosed, 1000);
  });

  it('throws what the source could not be opened for, on a terminal that is given back', async () => {
    const error = new LbctlError('ETCD_UNREACHABLE', 'no etcd');
    const shown = show(80, 24, { open: () => Promise.reject(error) });
    await expect(shown.end).rejects.toBe(error);
    expect(shown.terminal.isRaw).toBe(false);
    expect(shown.terminal.bytes.endsWith('\x1b[?1049l')).toBe(true);
  });

  it('is not drawn over after it', async () => {
    const shown = show(80, 24);
    shown.terminal.type('q');
    await shown.end;
    const { bytes } = shown.terminal;
    shown.source.change(1, { state: 'paused' });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(shown.terminal.bytes).toBe(bytes);
  });
});
