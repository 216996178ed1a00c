const lineFeed = 10;
/** A statistics line has some 60 bytes an instance: this is one of ten thousand of them. */
export const longestLineBytes = 1 << 20;

/** Cuts one stream of bytes into lines, whatever the chunks are. What is longer than `longestLineBytes` is cut there. */
export class LineSplitter {
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(private readonly longestBytes = longestLineBytes) {}

  /** The lines that this chunk ends, without their ends. */
  push(chunk: Uint8Array): readonly string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, from)) {
      this.#keep(chunk.subarray(from, end));
      lines.push(this.#take());
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  /** What is left without an end; empty when nothing is. */
  end(): string {
    return this.#take();
  }

  #keep(part: Uint8Array): void {
    const room = this.longestBytes - this.#bytes;
    if (part.length === 0 || room <= 0) return;
    // Copied: the reader's buffer is its own to use again.
    this.#parts.push(Buffer.from(part.subarray(0, room)));
    this.#bytes += Math.min(part.length, room);
    // A writer that flushes each byte must not make a million parts of a line.
    if (this.#parts.length > 1024) this.#parts = [Buffer.concat(this.#parts)];
  }

  #take(): string {
    const [only] = this.#parts;
    // Decoded as a whole: a chunk may end within a character.
    const line = this.#parts.length === 1 && only ? only : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    const text = line.toString('utf8');
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  }
}
