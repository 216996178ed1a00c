import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

const most = 64;

/** The connections of a server's readers: 64 at most, of which those that ask nothing make room for new ones. */
export class Connections {
  /** The oldest first; whether an answer is under way. */
  readonly #open = new Map<Socket, boolean>();
  /** The end of the last answer that each waits for. */
  readonly #answered = new WeakMap<Socket, Promise<void>>();

  opened(socket: Socket): void {
    if (this.#open.size >= most) {
      const [oldest] = [...this.#open].find(([, isAnswered]) => !isAnswered) ?? [socket];
      this.#open.delete(oldest);
      oldest.destroy();
    }
    if (socket.destroyed) return;
    this.#open.set(socket, false);
    socket.once('close', () => this.#open.delete(socket));
  }

  /**
   * Requests of one connection have their turns one after the other, and everything else of the program in between: Node reads as
   * many as come in one piece at once. Never resolves for one whose connection has ended before its turn.
   */
  async turn({ socket }: IncomingMessage, response: ServerResponse): Promise<void> {
    const before = this.#answered.get(socket);
    this.#answered.set(socket, new Promise((resolve) => response.once('close', resolve)));
    await before;
    if (this.#open.has(socket)) this.#open.set(socket, true);
    response.once('close', () => {
      if (this.#open.has(socket)) this.#open.set(socket, false);
    });
    await nextTurn();
  }
}
