import { Writable } from 'node:stream';
import { type Instance, render, Text } from 'ink';
import type { Painter } from './painter.js';
import type { Size } from './state.js';
import type { Terminal } from './terminal.js';

/** The dashboard drawn by ink, which sends the lines that changed. */
export class InkPainter implements Painter {
  readonly #terminal: Pick<Terminal, 'write'>;
  readonly #stdin: NodeJS.ReadStream;
  #size: Size;
  #mounted: { readonly app: Instance; readonly output: InkOutput } | null = null;

  constructor(terminal: Pick<Terminal, 'write'>, stdin: NodeJS.ReadStream, size: Size) {
    this.#terminal = terminal;
    this.#stdin = stdin;
    this.#size = size;
  }

  draw(lines: readonly string[]): void {
    const node = <Text>{lines.join('\n')}</Text>;
    if (this.#mounted !== null) {
      this.#mounted.app.rerender(node);
      return;
    }
    const output = new InkOutput(this.#size, (text) => this.#terminal.write(text));
    // The old screen goes and the new one comes in one write: no flicker.
    output.hold('\x1b[H\x1b[2J');
    // ink takes a stream for a terminal by these few members; the rest of a terminal's it does not use.
    const stdout = output as unknown as NodeJS.WriteStream;
    const app = render(node, {
      stdout,
      stdin: this.#stdin,
      exitOnCtrlC: false,
      patchConsole: false,
      incrementalRendering: true,
    });
    output.release();
    this.#mounted = { app, output };
  }

  /** ink draws relative to where it left the cursor. After a resize nobody knows what is there: it begins anew. */
  restart(size: Size): void {
    this.#size = size;
    this.close();
  }

  close(): void {
    // Its last words are of the old screen.
    this.#mounted?.output.hold('');
    this.#mounted?.app.unmount();
    this.#mounted = null;
  }
}

/** What ink takes for the terminal. */
class InkOutput extends Writable {
  readonly isTTY = true;
  readonly columns: number;
  readonly rows: number;
  readonly #send: (text: string) => void;
  #held: string | null = null;

  constructor(size: Size, send: (text: string) => void) {
    super({ decodeStrings: false });
    this.columns = size.columns;
    this.rows = size.rows;
    this.#send = send;
  }

  hold(text: string): void {
    this.#held = text;
  }

  release(): void {
    const held = this.#held ?? '';
    this.#held = null;
    this.#send(held);
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    if (this.#held === null) this.#send(String(chunk));
    else this.#held += String(chunk);
    done();
  }
}
