import { Writable } from 'node:stream';
import { type Instance, render, Text, Transform } from 'ink';
import type { Painter } from './painter.js';

/** Stands for line n of a frame while ink has it: a character of private use. */
const firstSlot = 0xe000;

/**
 * The dashboard as ink lays it out: lines as slots of one character. Their contents go past it (docs/decisions/0015):
 * ink 6.8 makes several objects of every cell of a frame, which took a fifth of a core at 10 Hz, and keeps every text
 * that it ever measured. Nor does it write to the terminal: it draws relative to where it believes the cursor to be,
 * and clears the scrollback when a frame is as high as the terminal.
 */
export class InkPainter implements Painter {
  readonly #screen: Painter;
  readonly #stdin: NodeJS.ReadStream;
  readonly #slots = new Slots((slots) => this.#screen.draw(slots.map((slot) => this.#lines[slot] ?? '')));
  #lines: readonly string[] = [];
  #app: Instance | null = null;

  constructor(screen: Painter, stdin: NodeJS.ReadStream) {
    this.#screen = screen;
    this.#stdin = stdin;
  }

  draw(lines: readonly string[]): void {
    this.#lines = lines;
    const node = <Lines count={lines.length} />;
    if (this.#app === null) this.#app = this.#mount(node);
    else this.#app.rerender(node);
  }

  restart(): void {
    this.#screen.restart();
  }

  close(): void {
    this.#slots.isOpen = false;
    this.#app?.unmount();
    this.#app = null;
  }

  #mount(node: React.ReactNode): Instance {
    return render(node, {
      // ink takes a stream for a terminal by these few members; the rest of a terminal's it does not use.
      stdout: this.#slots as unknown as NodeJS.WriteStream,
      stdin: this.#stdin,
      // Each frame is written whole, at once, with nothing around it.
      debug: true,
      exitOnCtrlC: false,
      patchConsole: false,
    });
  }
}

function Lines({ count }: { readonly count: number }) {
  const slots = Array.from({ length: count }, (_, index) => String.fromCharCode(firstSlot + index));
  return (
    // A new function each time: without a change ink would write no frame.
    <Transform transform={(line) => line}>
      <Text>{slots.join('\n')}</Text>
    </Transform>
  );
}

/** What ink takes for the terminal: one column of slots. */
class Slots extends Writable {
  readonly isTTY = true;
  readonly columns = 1;
  readonly rows = 10_000;
  isOpen = true;
  readonly #draw: (slots: readonly number[]) => void;

  constructor(draw: (slots: readonly number[]) => void) {
    super({ decodeStrings: false });
    this.#draw = draw;
  }

  override _write(frame: string | Buffer, _encoding: string, done: () => void): void {
    const text = String(frame);
    // At its end ink writes nothing, to learn when all was written, and shows a cursor that is not its own.
    if (this.isOpen && text.charCodeAt(0) >= firstSlot) {
      this.#draw(text.split('\n').map((line) => line.charCodeAt(0) - firstSlot));
    }
    done();
  }
}
