import { StringDecoder } from 'node:string_decoder';
import { type Input, InputParser } from './input.js';
import type { Size } from './state.js';

/** Alternate screen, no cursor, pastes in brackets. */
const taking = '\x1b[?1049h\x1b[?25l\x1b[?2004h';
/** And back; a crash may have come in the middle of colours or of a synchronised update. */
const giving = '\x1b[0m\x1b[?2026l\x1b[?2004l\x1b[?25h\x1b[?1049l';

const endingSignals = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const;
/** After an ESC that nothing follows for so long, it was the key. */
const escapeMs = 40;

export interface TerminalListener {
  onInput(inputs: readonly Input[]): void;
  /** Draw everything: the size changed, or the screen is ours again. */
  onRedraw(): void;
  /** The terminal went away, or a signal ends the process. */
  onGone(): void;
}

/**
 * The terminal while the dashboard has it. There is one way back, `leave`, and every path takes it: the end, a signal,
 * a crash, the exit of the process, and the stops of job control in between.
 */
export class Terminal {
  readonly #stdin: NodeJS.ReadStream;
  readonly #stdout: NodeJS.WriteStream;
  readonly #listener: TerminalListener;
  readonly #parser = new InputParser();
  readonly #decoder = new StringDecoder('utf8');
  #wasRaw = false;
  #isTaken = false;
  #isEntered = false;
  #flush: NodeJS.Timeout | undefined;
  #undo: Array<() => void> = [];

  constructor(stdin: NodeJS.ReadStream, stdout: NodeJS.WriteStream, listener: TerminalListener) {
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#listener = listener;
  }

  get size(): Size {
    return { columns: this.#stdout.columns || 80, rows: this.#stdout.rows || 24 };
  }

  enter(): void {
    this.#isEntered = true;
    this.#wasRaw = this.#stdin.isRaw === true;
    const redraw = () => this.#listener.onRedraw();
    const gone = () => this.#listener.onGone();
    this.#listen(this.#stdin, 'data', (chunk: Buffer | string) => this.#onData(chunk));
    this.#listen(this.#stdin, 'end', gone);
    this.#listen(this.#stdin, 'error', gone);
    this.#listen(this.#stdout, 'resize', redraw);
    this.#listen(this.#stdout, 'error', gone);
    this.#listen(process, 'exit', () => this.leave());
    // A monitor, not a handler: the error goes on to whoever shows it, on a terminal that can show it.
    this.#listen(process, 'uncaughtExceptionMonitor', () => {
      this.leave();
      gone();
    });
    for (const signal of endingSignals) {
      const isOthers = process.listenerCount(signal) > 0;
      this.#listen(process, signal, () => this.#onSignal(signal, isOthers));
    }
    this.#listen(process, 'SIGCONT', () => this.#resume());
    process.on('SIGTSTP', this.#onStop);
    this.#undo.push(() => process.off('SIGTSTP', this.#onStop));
    this.#take();
    this.#stdin.resume();
  }

  /** Drops what comes when the terminal is not ours: ink still writes while the process ends. */
  write(text: string): void {
    if (this.#isTaken) this.#stdout.write(text);
  }

  /** The terminal as it was; idempotent. */
  leave(): void {
    if (!this.#isEntered) return;
    this.#isEntered = false;
    clearTimeout(this.#flush);
    this.#give();
    this.#stdin.pause();
    for (const undo of this.#undo) undo();
    this.#undo = [];
  }

  /** Ctrl-Z: stops everything that the shell runs as one job, as the terminal itself would in cooked mode. */
  suspend(): void {
    this.#stop(0);
  }

  readonly #onStop = () => this.#stop(process.pid);

  /**
   * Returns when the process goes on: without a listener SIGTSTP stops it before `kill` returns, or not at all where
   * no shell could wake it up again.
   */
  #stop(processOrGroup: number): void {
    this.#give();
    process.off('SIGTSTP', this.#onStop);
    process.kill(processOrGroup, 'SIGTSTP');
    process.on('SIGTSTP', this.#onStop);
    this.#resume();
  }

  #resume(): void {
    this.#take();
    this.#listener.onRedraw();
    // Only the job in the foreground is told of a new size. This makes Node look: it does so for its own stdout alone.
    process.kill(process.pid, 'SIGWINCH');
  }

  /** Without anybody else who listens, the signal has to do what it does by default. */
  #onSignal(signal: (typeof endingSignals)[number], isOthers: boolean): void {
    this.leave();
    this.#listener.onGone();
    if (!isOthers) process.kill(process.pid, signal);
  }

  #take(): void {
    if (!this.#isEntered) return;
    // Raw mode first: a job in the background is stopped by it before it writes to somebody else's screen. Off before
    // on: after a stop the terminal is not in the mode that Node remembers.
    this.#setRaw(false);
    this.#setRaw(true);
    this.#isTaken = true;
    this.write(taking);
  }

  #give(): void {
    if (!this.#isTaken) return;
    this.write(giving);
    this.#isTaken = false;
    this.#setRaw(this.#wasRaw);
  }

  /** A terminal that has hung up refuses. */
  #setRaw(isRaw: boolean): void {
    try {
      this.#stdin.setRawMode?.(isRaw);
    } catch {}
  }

  #onData(chunk: Buffer | string): void {
    clearTimeout(this.#flush);
    const inputs = this.#parser.feed(typeof chunk === 'string' ? chunk : this.#decoder.write(chunk));
    if (this.#parser.isPending) {
      this.#flush = setTimeout(() => this.#listener.onInput(this.#parser.flush()), escapeMs);
    }
    if (inputs.length > 0) this.#listener.onInput(inputs);
  }

  #listen<Arguments extends unknown[]>(
    emitter: NodeJS.EventEmitter,
    event: string,
    listener: (...values: Arguments) => void,
  ): void {
    const untyped = listener as (...values: unknown[]) => void;
    emitter.on(event, untyped);
    this.#undo.push(() => emitter.off(event, untyped));
  }
}
