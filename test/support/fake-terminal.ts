import { PassThrough, Writable } from 'node:stream';
import headless from '@xterm/headless';

/** A terminal without a window, as the two streams that a program has of it. */
export class FakeTerminal {
  readonly #terminal: InstanceType<typeof headless.Terminal>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  /** Every byte that came, in order. */
  bytes = '';
  isRaw = false;

  constructor(columns: number, rows: number) {
    const terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 1000 });
    this.#terminal = terminal;
    const write = (chunk: Buffer, _encoding: string, done: () => void) => {
      this.bytes += chunk.toString();
      terminal.write(chunk);
      done();
    };
    const output = Object.assign(new Writable({ write }), { isTTY: true });
    Object.defineProperty(output, 'columns', { get: () => terminal.cols });
    Object.defineProperty(output, 'rows', { get: () => terminal.rows });
    const setRawMode = (isRaw: boolean) => {
      this.isRaw = isRaw;
    };
    const input = Object.assign(new PassThrough(), { isTTY: true, isRaw: false, setRawMode });
    // Of a terminal's streams these are the members that matter here.
    this.stdout = output as unknown as NodeJS.WriteStream;
    this.stdin = input as unknown as NodeJS.ReadStream;
  }

  type(text: string): void {
    (this.stdin as unknown as PassThrough).write(text);
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
    this.stdout.emit('resize');
  }

  get isAlternate(): boolean {
    return this.#terminal.buffer.active.type === 'alternate';
  }

  /** Lines that have scrolled out of the normal screen, and the screen. */
  get normalLines(): string[] {
    const { normal } = this.#terminal.buffer;
    return Array.from({ length: normal.length }, (_, y) => normal.getLine(y)?.translateToString(true) ?? '');
  }

  /** What is on the screen now, by line. */
  get lines(): string[] {
    const { active } = this.#terminal.buffer;
    return Array.from({ length: this.#terminal.rows }, (_, y) => {
      return active.getLine(active.viewportY + y)?.translateToString(true) ?? '';
    });
  }

  isInverse(row: number, column: number): boolean {
    return this.#terminal.buffer.active.getLine(row)?.getCell(column)?.isInverse() !== 0;
  }
}
