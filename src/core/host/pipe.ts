import { constants, open } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

const openFile = promisify(open);

/**
 * What comes through a pipe that has a name in the file system: a FIFO, or `/dev/fd/63` of a shell's `<(…)`. Null for
 * anything else. It may come at any time or never, so no thread waits for it: one that does cannot be called back, and
 * holds up the end of the process.
 */
export async function openPipe(path: string): Promise<Readable | null> {
  if (!(await stat(path)).isFIFO()) return null;
  const fd = await openFile(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}
