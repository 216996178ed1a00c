import { constants } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildDashboard } from '../support/built-dashboard.js';
import { hasTmux, Tmux } from '../support/tmux.js';
import { until } from '../support/until.js';

let dashboard: Awaited<ReturnType<typeof buildDashboard>>;
beforeAll(async () => {
  dashboard = await buildDashboard();
});
afterAll(() => dashboard.remove());

/** A shell in a terminal, with something above that must still be there afterwards. */
async function inTerminal(columns: number, rows: number, body: (tmux: Tmux) => Promise<void>): Promise<void> {
  const tmux = await Tmux.start(columns, rows, { DASHBOARD: `${process.execPath} ${dashboard.program}` });
  try {
    await tmux.type('clear; seq 1000 1040; before=$(stty -g)');
    await tmux.wait((text) => /1040\n\$/.test(text), 'numbers to scroll out');
    await body(tmux);
  } finally {
    await tmux.close();
  }
}

/** Types a command that shows the dashboard, and waits for it with its figures; gives its process id. */
async function open(tmux: Tmux, command = '$DASHBOARD'): Promise<number> {
  await tmux.type(command);
  await tmux.wait((text) => /10\.0\.0\.1:8080/.test(text) || /5\/5 up/.test(text), 'the dashboard');
  expect(await tmux.display('#{alternate_on} #{cursor_flag}')).toBe('1 0');
  return Number(await tmux.foreground());
}

/** The terminal is as it was: modes, screen, cursor, and all that stood on it before. */
async function expectRestored(tmux: Tmux): Promise<string> {
  await tmux.wait((text) => /(^|\n)\$ *\n*$/.test(text), 'the prompt');
  expect(await tmux.display('#{alternate_on} #{cursor_flag} #{mouse_any_flag}')).toBe('0 1 0');
  await tmux.type('[ "$before" = "$(stty -g)" ] && echo modes-"are"-equal || stty -a');
  await tmux.wait((text) => text.includes('modes-are-equal'), 'the same terminal modes');
  const text = await tmux.text({ withHistory: true });
  const numbers = text.match(/^10[0-4]\d$/gm) ?? [];
  expect(numbers).toEqual(Array.from({ length: 41 }, (_, i) => String(1000 + i)));
  expect(text).not.toContain('p2c_ewma');
  return text;
}

describe.skipIf(!hasTmux()).concurrent('in a real terminal', () => {
  it.each([
    [200, 50, 'TTL'],
    [80, 24, 'ERR%'],
    [60, 20, 'INFLIGHT'],
  ])('of %dx%d the table goes as far as %s; q gives the terminal back', async (columns, rows, last) => {
    await inTerminal(columns, rows, async (tmux) => {
      await open(tmux);
      const lines = (await tmux.text()).split('\n');
      expect(lines[0]).toMatch(/^greeter\.rpc · http:\/\/127\.0\.0\.1:2379 · p2c_ewma/);
      expect(
        lines
          .find((line) => line.includes('STATE'))
          ?.trim()
          .split(/ +/)
          .at(-1),
      ).toBe(last);
      expect(lines[rows - 2]).toContain('q quit');
      await tmux.keys('q');
      expect(await expectRestored(tmux)).toContain('ended: quit');
    });
  });

  it('of 30x6 one line is shown; any size can follow', async () => {
    await inTerminal(30, 6, async (tmux) => {
      await open(tmux);
      expect((await tmux.text()).trim().split('\n')).toHaveLength(1);
      for (const [columns, rows] of [
        [200, 50],
        [60, 20],
        [30, 6],
        [80, 24],
      ] as const) {
        await tmux.resize(columns, rows);
        const isTiny = columns === 30;
        await tmux.wait((text) => {
          const lines = text.trimEnd().split('\n');
          return isTiny ? lines.length === 1 : lines.length === rows - 1 && /q quit/.test(lines.at(-1) ?? '');
        }, `${columns}x${rows}`);
      }
      await tmux.keys('q');
      await expectRestored(tmux);
    });
  });

  it('Ctrl-C ends it', async () => {
    await inTerminal(80, 24, async (tmux) => {
      await open(tmux);
      await tmux.keys('C-c');
      expect(await expectRestored(tmux)).toContain('ended: interrupted');
    });
  });

  it.each(['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const)('%s ends it, as that signal does', async (signal) => {
    await inTerminal(80, 24, async (tmux) => {
      const pid = await open(tmux);
      process.kill(pid, signal);
      await tmux.wait((text) => /\n\$ *\n*$/.test(text) && !text.includes('p2c_ewma'), 'the shell');
      await tmux.type('echo status $?');
      expect(await expectRestored(tmux)).toContain(`status ${128 + constants.signals[signal]}`);
      await until(() => hasEnded(pid), 5000, 'the end of the process');
    });
  });

  it.each([
    ['an exception', '--crash-after 1500', /Error: a crash on purpose\n +at /],
    ['an exception that is caught', '--catch --crash-after 1500', /caught: a crash on purpose\nended: ended/],
    ['a rejection', '--reject-after 1500', /Error: a rejection on purpose\n +at /],
    ['process.exit', '--exit-after 1500', /^/],
    ['a source that cannot be opened', '--refuse', /refused: refused on purpose/],
  ])('%s gives the terminal back, and is shown there', async (_what, flags, shown) => {
    await inTerminal(80, 24, async (tmux) => {
      await tmux.type(`$DASHBOARD ${flags}`);
      if (flags !== '--refuse') await tmux.wait((text) => text.includes('10.0.0.1:8080'), 'the dashboard');
      await tmux.wait((text) => /\n\$ *\n*$/.test(text) && !text.includes('p2c_ewma'), 'the shell');
      expect(await expectRestored(tmux)).toMatch(shown);
    });
  });

  it.each(['Ctrl-Z', 'SIGTSTP', 'SIGSTOP'] as const)('%s suspends it; fg comes back, in another size', async (how) => {
    await inTerminal(80, 24, async (tmux) => {
      // As npx does it: the whole job has to stop, or its shell waits for ever for a process that does not.
      const pid = await open(tmux, how === 'Ctrl-Z' ? 'sh -c "$DASHBOARD; true"' : '$DASHBOARD');
      if (how === 'Ctrl-Z') await tmux.keys('C-z');
      else process.kill(pid, how);
      if (how === 'SIGSTOP') {
        // Nothing can be restored then; but what comes back has to be whole.
        await until(async () => /bash/.test(await tmux.display('#{pane_current_command}')), 5000, 'the shell');
      } else {
        await expectRestored(tmux);
      }
      await tmux.resize(100, 30);
      await tmux.type('fg');
      await tmux.wait((text) => text.trimEnd().split('\n').length === 29 && text.includes('10.0.0.1:8080'), 'a redraw');
      expect(await tmux.display('#{alternate_on} #{cursor_flag}')).toBe('1 0');
      await tmux.keys('j');
      await tmux.wait((text) => text.includes('> 10.0.0.1:8080'), 'the cursor to move');
      await tmux.keys('q');
      await tmux.wait((text) => text.includes('ended: quit'), 'the end');
      if (how !== 'SIGSTOP') await expectRestored(tmux);
    });
  });

  it('takes keys from the terminal while something else comes in on stdin', async () => {
    await inTerminal(80, 24, async (tmux) => {
      await open(tmux, 'yes q | head -n 100000 | $DASHBOARD --tty');
      await tmux.keys('j');
      await tmux.wait((text) => text.includes('> 10.0.0.1:8080'), 'the cursor to move');
      await tmux.keys('q');
      expect(await expectRestored(tmux)).toContain('ended: quit');
    });
  });

  it('asks before it acts, and takes no paste for an answer', async () => {
    await inTerminal(80, 24, async (tmux) => {
      await open(tmux, '$DASHBOARD --write');
      await tmux.paste('dy');
      await tmux.wait((text) => text.includes('Pasted text'), 'a word about the paste');
      await tmux.keys('p');
      await tmux.wait((text) => text.includes('lbctl pause greeter.rpc 10.0.0.0:8080'), 'the question');
      await tmux.keys('y');
      await tmux.wait((text) => /10\.0\.0\.0:8080 +paused/.test(text), 'the pause');
      await tmux.keys('q');
      await expectRestored(tmux);
    });
  });
});

function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
