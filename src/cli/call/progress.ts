import type { CallStatistics } from '../../core/operations/call.js';

interface Counted {
  readonly policy: string;
  readonly statistics: CallStatistics;
}

const rewriteEveryMs = 500;
const lineEveryMs = 10_000;

/** How far a run is, on stderr: one line that is rewritten on a terminal, a line every ten seconds elsewhere. */
export class Progress {
  #timer: NodeJS.Timeout | null = null;
  #startedAt = 0;
  #isShown = false;

  constructor(
    private readonly isTerminal: boolean,
    private readonly write: (text: string) => void,
    private readonly tell: (line: string) => void,
  ) {}

  start(runs: readonly Counted[]): void {
    this.#startedAt = performance.now();
    const text = () => {
      const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
      const parts = runs.map(({ policy, statistics }) => {
        const failed = statistics.errors > 0 ? `, ${statistics.errors} failed` : '';
        return `${policy} ${statistics.calls} calls${failed}`;
      });
      return `${seconds} s: ${parts.join(' | ')}`;
    };
    const show = () => {
      if (!this.isTerminal) return this.tell(text());
      this.#isShown = true;
      this.write(`\r\x1b[K${text()}`);
    };
    this.#timer = setInterval(show, this.isTerminal ? rewriteEveryMs : lineEveryMs);
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    if (this.#isShown) this.write('\r\x1b[K');
    this.#isShown = false;
  }
}
