/** Puts lines on the screen. */
export interface Painter {
  draw(lines: readonly string[]): void;
  /** Nobody knows what is on the screen any more. */
  restart(): void;
  close(): void;
}

const begin = '\x1b[?2026h';
const end = '\x1b[?2026l';

/** The lines of the alternate screen: only those that changed are sent, in one write, each to its place. */
export class ScreenPainter implements Painter {
  readonly #send: (text: string) => void;
  #drawn: readonly string[] | null = null;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  draw(lines: readonly string[]): void {
    const drawn = this.#drawn ?? [];
    let text = this.#drawn === null ? '\x1b[2J' : '';
    for (let row = 0; row < Math.max(lines.length, drawn.length); row++) {
      const line = lines[row] ?? '';
      // Erased before, not after: behind a line as wide as the terminal the cursor still stands on its last cell.
      if (line !== (drawn[row] ?? '')) text += `\x1b[${row + 1};1H\x1b[K${line}`;
    }
    this.#drawn = lines;
    if (text !== '') this.#send(begin + text + end);
  }

  restart(): void {
    this.#drawn = null;
  }

  close(): void {}
}
