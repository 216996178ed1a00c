import { type FileHandle, open, stat } from 'node:fs/promises';
import { type Clock, sleep } from '../../model/clock.js';

const pollMs = 250;
const chunkBytes = 1 << 16;

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

/**
 * Reads a file from its start, and then what is added to it, until `signal` aborts. Follows a rotation (another file in its
 * place: the old one is read to its end first) and a truncation, and waits for a file that is not there yet.
 */
export async function followFile(
  path: string,
  listener: FileListener,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const buffer = new Uint8Array(chunkBytes);
  let file: { readonly handle: FileHandle; readonly inode: bigint; at: number } | null = null;
  /** To the end of what is there. */
  const drain = async (): Promise<void> => {
    while (file && !signal.aborted) {
      const { bytesRead } = await file.handle.read(buffer, 0, buffer.length, file.at);
      if (bytesRead === 0) return;
      file.at += bytesRead;
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
      try {
        await drain();
        const there = await stat(path, { bigint: true });
        if (file && file.inode !== there.ino) {
          await drain();
          await restart();
        } else if (file && there.size < BigInt(file.at)) {
          await restart();
        }
        if (!file) {
          const handle = await open(path, 'r');
          file = { handle, inode: (await handle.stat({ bigint: true })).ino, at: 0 };
          await drain();
        }
        listener.trouble(null);
        listener.caughtUp();
      } catch (error) {
        listener.trouble(reasonOf(error));
        listener.caughtUp();
      }
      await sleep(clock, pollMs, signal);
    }
  } finally {
    await (file as { readonly handle: FileHandle } | null)?.handle.close();
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const words: Readonly<Record<string, string>> = {
    ENOENT: 'it is not there',
    EACCES: 'its permissions do not allow it',
    EISDIR: 'it is a directory',
  };
  return words[code] ?? (error instanceof Error ? error.message : String(error));
}
