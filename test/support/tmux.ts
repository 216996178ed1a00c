import { execFile, spawnSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { until } from './until.js';

const run = promisify(execFile);
let servers = 0;

/** Whether terminals can be tested here. CI must have tmux: there a test that is left out is a test that failed. */
export function hasTmux(): boolean {
  const isThere = spawnSync('tmux', ['-V']).status === 0;
  if (!isThere && process.env.CI)
    throw new Error('tmux is needed to test real terminals: npm test installs it with apt');
  if (!isThere) process.stderr.write('  without tmux real terminals are not tested: apt-get install tmux\n');
  return isThere;
}

/** A real terminal with a shell in it, on a tmux server of its own. */
export class Tmux {
  readonly #socket: string;

  private constructor(socket: string) {
    this.#socket = socket;
  }

  static async start(columns: number, rows: number, env: Readonly<Record<string, string>> = {}): Promise<Tmux> {
    servers++;
    const tmux = new Tmux(`lbctl-test-${process.pid}-${servers}`);
    const shell = "env -u CI -u NO_COLOR -u FORCE_COLOR PS1='$ ' HISTFILE= bash --norc --noprofile";
    await tmux.#tmux(
      ...[
        '-f',
        '/dev/null',
        'start-server',
        ';',
        'set',
        '-g',
        'status',
        'off',
        ';',
        'set',
        '-g',
        'escape-time',
        '0',
        ';',
      ],
      ...['new-session', '-d', '-x', String(columns), '-y', String(rows)],
      ...Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]),
      shell,
    );
    await tmux.wait((text) => text.startsWith('$'), 'a prompt');
    return tmux;
  }

  /** Keys by their names in tmux: `q`, `Enter`, `C-c`. */
  async keys(...keys: readonly string[]): Promise<void> {
    await this.#tmux('send-keys', ...keys);
  }

  /** Types a line into the shell. */
  async type(line: string): Promise<void> {
    await this.#tmux('send-keys', '-l', line);
    await this.keys('Enter');
  }

  /** As a terminal pastes: in brackets where the program asked for them. */
  async paste(text: string): Promise<void> {
    await this.#tmux('set-buffer', text, ';', 'paste-buffer', '-p');
  }

  /** Process id of what the shell runs in the foreground. */
  async foreground(): Promise<number> {
    const { stdout } = await run('ps', ['-o', 'tpgid=', '-p', await this.display('#{pane_pid}')]);
    return Number(stdout);
  }

  /** What is on the screen, without trailing blanks; `withHistory`: and all that has scrolled out at the top. */
  async text(options: { withHistory?: boolean } = {}): Promise<string> {
    return this.#tmux('capture-pane', '-p', ...(options.withHistory ? ['-S', '-'] : []));
  }

  async wait(test: (text: string) => boolean, what: string, withinMs = 10_000): Promise<string> {
    let text = '';
    const look = async () => {
      text = await this.text();
      // Each look is a process: often enough for a person is often enough.
      return test(text) || delay(40, false);
    };
    await until(look, withinMs, what).catch((error: Error) => {
      throw new Error(`${error.message}; on the screen:\n${text}`);
    });
    return text;
  }

  /** A format of tmux, such as `#{alternate_on}`. */
  async display(format: string): Promise<string> {
    return (await this.#tmux('display-message', '-p', format)).trimEnd();
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#tmux('resize-window', '-x', String(columns), '-y', String(rows));
  }

  /** Sends every byte that reaches the terminal to a shell command too; without one: no longer. */
  async pipe(command?: string): Promise<void> {
    await this.#tmux('pipe-pane', ...(command === undefined ? [] : ['-O', command]));
  }

  /** Ends the server, and with it everything that runs in its terminal. */
  async close(): Promise<void> {
    await this.#tmux('kill-server').catch(() => {});
  }

  async #tmux(...args: string[]): Promise<string> {
    const { stdout } = await run('tmux', ['-L', this.#socket, ...args]);
    return stdout;
  }
}
