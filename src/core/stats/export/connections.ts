import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The connections of a server's readers. */
export class Connections {
  /** The end of the last answer that each waits for. */
  readonly #answered = new WeakMap<Socket, Promise<void>>();

  /**
   * Requests of one connection have their turns one after the other, and everything else of the program in between: Node reads as
   * many as come in one piece at once. Never resolves for one whose connection has ended before its turn.
   */
  async turn({ socket }: IncomingMessage, response: ServerResponse): Promise<void> {
    const before = this.#answered.get(socket);
    this.#answered.set(socket, new Promise((resolve) => response.once('close', resolve)));
    await before;
    await nextTurn();
  }
}
