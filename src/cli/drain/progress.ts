import { formatDuration } from '../../core/model/duration.js';
import { sanitise } from '../../core/model/sanitise.js';
import type { DrainProgress } from '../../core/operations/drain/wait.js';

const refreshMs = 1000;

/**
 * How a drain tells what it waits for: a line each time a condition changes, and on a terminal one more line below them
 * that counts the seconds. While a command runs the terminal is the command's.
 */
export class DrainProgressLines {
  readonly #waiting = new Map<string, { readonly progress: DrainProgress; readonly sinceMs: number }>();
  readonly #isTerminal: boolean;
  readonly #tell: (line: string, fields: object) => void;
  #timer: NodeJS.Timeout | null = null;
  #isShown = false;

  constructor(isTerminal: boolean, tell: (line: string, fields: object) => void) {
    this.#isTerminal = isTerminal;
    this.#tell = tell;
  }

  add(progress: DrainProgress): void {
    const { address, condition, state, waitedMs, detail } = progress;
    const name = `${address} ${condition}`;
    if (state === 'met') this.#waiting.delete(name);
    else this.#waiting.set(name, { progress, sinceMs: performance.now() - waitedMs });
    this.clear();
    const after = state === 'met' && waitedMs >= 1000 ? ` after ${formatDuration(waitedMs)}` : '';
    this.#tell(`${address}  ${condition.padEnd(9)}  ${state}${after}: ${detail}`, { type: 'progress', ...progress });
    if (this.#isTerminal) this.#timer ??= setInterval(() => this.#refresh(), refreshMs).unref();
  }

  /** Leaves the terminal clean. */
  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.clear();
  }

  #refresh(): void {
    const all = [...this.#waiting.values()];
    if (all.length === 0 || all.some(({ progress }) => progress.condition === 'command')) return;
    const parts = all.map(({ progress: { address, condition }, sinceMs }) => {
      return `${address} ${condition} ${formatDuration(performance.now() - sinceMs)}`;
    });
    const width = Math.max(20, (process.stderr.columns ?? 80) - 1);
    process.stderr.write(`\r\x1b[K${sanitise(`waiting: ${parts.join(', ')}`).slice(0, width)}`);
    this.#isShown = true;
  }

  /** Before anybody else writes to the terminal. */
  clear(): void {
    if (this.#isShown) process.stderr.write('\r\x1b[K');
    this.#isShown = false;
  }
}
