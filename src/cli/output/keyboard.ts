import { openSync } from 'node:fs';
import { ReadStream } from 'node:tty';

/** Where keys are read. */
export interface Keyboard {
  readonly stream: ReadStream;
  close(): void;
}

/**
 * The terminal that keys come from: stdin, or where that carries data (`kubectl logs -f | lbctl …`) the terminal itself, as
 * pagers do. Null when there is none.
 */
export function keyboard(isStdinData: boolean): Keyboard | null {
  if (!isStdinData) return process.stdin.isTTY ? { stream: process.stdin, close: () => {} } : null;
  try {
    const stream = new ReadStream(openSync('/dev/tty', 'r'));
    return { stream, close: () => stream.destroy() };
  } catch {
    return null;
  }
}
