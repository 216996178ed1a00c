import type { Size } from './state.js';
import type { Terminal } from './terminal.js';

/** Puts lines on the screen that the terminal gave us. */
export interface Painter {
  draw(lines: readonly string[]): void;
  /** The screen is empty, and may have another size. */
  restart(size: Size): void;
  close(): void;
}

/** Without ink: for the time until it is loaded, which takes longer than the first frame may. */
export class PlainPainter implements Painter {
  readonly #terminal: Pick<Terminal, 'write'>;

  constructor(terminal: Pick<Terminal, 'write'>) {
    this.#terminal = terminal;
  }

  draw(lines: readonly string[]): void {
    this.#terminal.write(`\x1b[H${lines.join('\x1b[K\r\n')}\x1b[K\x1b[J`);
  }

  restart(): void {}

  close(): void {}
}
