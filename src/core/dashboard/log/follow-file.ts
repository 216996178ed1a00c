import { constants, type FileHandle, open, stat } from 'node:fs/promises';
import { finished } from 'node:stream/promises';
import { openPipe } from '../../host/pipe.js';
import { type Clock, sleep } from '../../model/clock.js';
import { messageOf } from '../../model/errors.js';

const pollMs = 250;
const chunkBytes = 1 << 16;
/** A disk answers within that, a mount whose server is gone never. */
const answerMs = 2000;

export interface FileListener {
  /** Bytes of it, in order. The buffer is used again. */
  data(chunk: Uint8Array): void;
  /** What is there is another file, or begins anew: a line that was under way ends here. */
  restarted(): void;
  /** All that was there is read. Told again after each look. */
  caughtUp(): void;
  /** Why it cannot be read, for people; null once it can. Tried again. */
  trouble(reason: string | null): void;
}

interface Opened {
  readonly handle: FileHandle;
  readonly inode: bigint;
  /** Null: a device, which has no positions. */
  at: number | null;
}

/**
 * Reads a file from its start, and then what is added to it, until `signal` aborts. Follows a rotation (another file in its
 * place: the old one is read to its end first) and a truncation, and waits for a file that is not there yet. A pipe is
 * read to its end and, where it has a name, waited for again.
 *
 * After an abort nobody should wait for it: a file system that does not answer never lets it end.
 */
export async function followFile(
  path: string,
  listener: FileListener,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const buffer = new Uint8Array(chunkBytes);
  let file: Opened | null = null;
  /** To the end of what is there. */
  const drain = async (): Promise<void> => {
    while (file && !signal.aborted) {
      const { bytesRead } = await file.handle.read(buffer, 0, buffer.length, file.at).catch(nothingYet);
      if (bytesRead === 0) return;
      if (file.at !== null) file.at += bytesRead;
      listener.data(buffer.subarray(0, bytesRead));
    }
  };
  const restart = async (): Promise<void> => {
    const old = file;
    file = null;
    await old?.handle.close();
    listener.restarted();
  };
  try {
    while (!signal.aborted) {
      const late = clock.timer(answerMs, () => listener.trouble('its file system does not answer'));
      try {
        await drain();
        const there = await stat(path, { bigint: true });
        if (file && file.inode !== there.ino) {
          await drain();
          await restart();
        } else if (file?.at != null && there.size < BigInt(file.at)) {
          await restart();
        }
        if (!file) {
          const pipe = await openPipe(path);
          if (pipe) {
            late.cancel();
            listener.trouble(null);
            listener.caughtUp();
            await readPipe(pipe, listener, signal);
            listener.restarted();
            if (isDescriptor(path)) return;
          } else {
            file = await opened(path);
            await drain();
          }
        }
        listener.trouble(null);
        listener.caughtUp();
      } catch (error) {
        listener.trouble(reasonOf(error));
        listener.caughtUp();
      } finally {
        late.cancel();
      }
      await sleep(clock, pollMs, signal);
    }
  } finally {
    await (file as Opened | null)?.handle.close().catch(() => {});
  }
}

async function opened(path: string): Promise<Opened> {
  // A terminal that nobody types at must not hold a thread.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const there = await handle.stat({ bigint: true });
  return { handle, inode: there.ino, at: there.isCharacterDevice() ? null : 0 };
}

async function readPipe(
  pipe: NonNullable<Awaited<ReturnType<typeof openPipe>>>,
  listener: FileListener,
  signal: AbortSignal,
): Promise<void> {
  const end = () => void pipe.destroy();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  pipe.on('data', (chunk: Buffer) => listener.data(chunk));
  try {
    await finished(pipe, { writable: false });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

/** What a descriptor of ours leads to, as in `<(…)`, cannot be opened by another writer: it is over when it ends. */
function isDescriptor(path: string): boolean {
  return /^\/(dev\/(fd\/\d+|stdin)|proc\/[^/]+\/fd\/\d+)$/.test(path);
}

function nothingYet(error: unknown): { readonly bytesRead: number } {
  if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return { bytesRead: 0 };
  throw error;
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const words: Readonly<Record<string, string>> = {
    ENOENT: 'it is not there',
    EACCES: 'its permissions do not allow it',
    EISDIR: 'it is a directory',
  };
  return words[code] ?? messageOf(error);
}
