import { aggregate } from '../../core/dashboard/aggregate.js';
import { rowsOf } from '../../core/dashboard/rows.js';
import type { ClientState } from '../../core/grpc/policies/client-state.js';
import type { CallStatistics } from '../../core/operations/call.js';
import { rowColumns } from '../dashboard/text.js';
import { table } from '../output/table.js';

interface Counted {
  readonly policy: string;
  readonly statistics: CallStatistics;
  readonly state: Pick<ClientState, 'figures'>;
}

/** Where a table can be drawn again and again. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  write(text: string): unknown;
}

const redrawEveryMs = 500;
const lineEveryMs = 10_000;

/** What only a registry knows of an instance. */
const unknownHere = ['STATE', 'WEIGHT', 'TTL'];
const columns = rowColumns.filter(({ title }) => !unknownHere.includes(title));

/** How far a run is, on stderr: a live table of each policy's instances on a screen, a line every ten seconds elsewhere. */
export class Progress {
  #timer: NodeJS.Timeout | null = null;
  #startedAt = 0;
  #drawnLines = 0;

  constructor(
    private readonly screen: Screen | null,
    private readonly tell: (line: string) => void,
  ) {}

  start(runs: readonly Counted[]): void {
    const { screen } = this;
    this.#startedAt = performance.now();
    const show = screen === null ? () => this.tell(this.#summary(runs)) : () => void this.#draw(screen, runs);
    this.#timer = setInterval(show, screen === null ? lineEveryMs : redrawEveryMs);
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.screen?.write(this.#erasing());
    this.#drawnLines = 0;
  }

  async #draw(screen: Screen, runs: readonly Counted[]): Promise<void> {
    const width = screen.columns;
    const tables = runs.map(async ({ policy, state }) => {
      const text = await table(columns, rowsOf(aggregate([{ instances: state.figures() }])), { width });
      return [...(runs.length > 1 ? [policy] : []), ...text.trimEnd().split('\n')];
    });
    const lines = [this.#summary(runs).slice(0, width), ...(await Promise.all(tables)).flat()];
    if (this.#timer === null) return;
    // A table higher than the screen could not be taken back.
    const shown = lines.slice(0, Math.max(1, screen.rows - 1));
    screen.write(`${this.#erasing()}${shown.map((line) => `${line}\n`).join('')}`);
    this.#drawnLines = shown.length;
  }

  #erasing(): string {
    return this.#drawnLines === 0 ? '' : `\x1b[${this.#drawnLines}A\r\x1b[J`;
  }

  #summary(runs: readonly Counted[]): string {
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    const parts = runs.map(({ policy, statistics }) => {
      const failed = statistics.errors > 0 ? `, ${statistics.errors} failed` : '';
      return `${policy} ${statistics.calls} calls${failed}`;
    });
    return `${seconds} s: ${parts.join(' | ')}`;
  }
}
