import { Writable } from 'node:stream';
import { type Instance, render, Text, Transform } from 'ink';
import type { ReactNode } from 'react';
import type { Painter } from './painter.js';
import type { Size } from './state.js';

/**
 * The dashboard as ink lays it out. ink's own way to the terminal is not taken, only its frames: it draws relative to
 * where it believes the cursor to be (6.8 is one line off when it draws only what changed), and clears the scrollback
 * when a frame is as high as the terminal.
 */
export class InkPainter implements Painter {
  readonly #screen: Painter;
  readonly #stdin: NodeJS.ReadStream;
  readonly #frames: Frames;
  #app: Instance | null = null;

  constructor(screen: Painter, stdin: NodeJS.ReadStream, size: Size) {
    this.#screen = screen;
    this.#stdin = stdin;
    this.#frames = new Frames(size, (lines) => screen.draw(lines));
  }

  draw(lines: readonly string[]): void {
    const node = <Lines lines={lines} />;
    if (this.#app === null) this.#app = this.#mount(node);
    else this.#app.rerender(node);
  }

  #mount(node: ReactNode): Instance {
    return render(node, {
      // ink takes a stream for a terminal by these few members; the rest of a terminal's it does not use.
      stdout: this.#frames as unknown as NodeJS.WriteStream,
      stdin: this.#stdin,
      // Each frame is written whole, at once, with nothing around it.
      debug: true,
      exitOnCtrlC: false,
      patchConsole: false,
    });
  }

  restart(size: Size): void {
    this.#screen.restart(size);
    this.#frames.size = size;
  }

  close(): void {
    this.#frames.isOpen = false;
    this.#app?.unmount();
    this.#app = null;
  }
}

/**
 * ink keeps every text that it ever measured (6.8): with figures that change ten times a second, 100 MB in ten minutes.
 * So it measures a text that stays the same, one letter a line, and gets the lines when it has.
 */
function Lines({ lines }: { readonly lines: readonly string[] }) {
  return (
    <Transform transform={(_, index) => lines[index] ?? ''}>
      <Text>{lines.map(() => '.').join('\n')}</Text>
    </Transform>
  );
}

/** What ink takes for the terminal. */
class Frames extends Writable {
  readonly isTTY = true;
  size: Size;
  isOpen = true;
  readonly #draw: (lines: readonly string[]) => void;

  constructor(size: Size, draw: (lines: readonly string[]) => void) {
    super({ decodeStrings: false });
    this.size = size;
    this.#draw = draw;
  }

  get columns(): number {
    return this.size.columns;
  }

  get rows(): number {
    return this.size.rows;
  }

  override _write(frame: string | Buffer, _encoding: string, done: () => void): void {
    // At the end ink writes nothing, to learn when everything before it was written; a cursor it hides is not its own.
    const text = String(frame);
    if (this.isOpen && text !== '' && !text.startsWith('\x1b[?')) this.#draw(text.split('\n'));
    done();
  }
}
