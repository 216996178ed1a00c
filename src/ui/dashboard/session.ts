import type { DashboardSource } from '../../core/dashboard/source.js';
import { LbctlError } from '../../core/model/errors.js';
import type { Input } from './input.js';
import type { Look } from './look.js';
import type { DashboardEnd, DashboardOptions } from './options.js';
import type { Painter } from './painter.js';
import { type Effect, type Event, reduce, type Surroundings } from './reducer.js';
import { render } from './render.js';
import { initialState, type State } from './state.js';
import type { Terminal } from './terminal.js';

/** News do not make it draw more often than this. */
const leastMs = 100;

/** One run of the dashboard: feeds the reducer, draws its state, does its effects. */
export class Session implements Surroundings {
  readonly #options: DashboardOptions;
  readonly #terminal: Terminal;
  readonly #ended: Promise<DashboardEnd['how']>;
  readonly #actions = new AbortController();
  #end: (how: DashboardEnd['how']) => void = () => {};
  #fail: (error: unknown) => void = () => {};
  #painter: Painter;
  #look: Look;
  #state: State;
  #source: DashboardSource | null = null;
  #timer: NodeJS.Timeout | undefined;
  #news: NodeJS.Timeout | undefined;
  #refreshedAt = 0;
  #isOver = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: DashboardOptions, terminal: Terminal, painter: Painter, look: Look) {
    this.#options = options;
    this.#terminal = terminal;
    this.#painter = painter;
    this.#look = look;
    this.#state = initialState(options, terminal.size);
    this.#ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
    // It is awaited only once it runs: until then a failure must not count as unhandled.
    this.#ended.catch(() => {});
  }

  get canAct(): boolean {
    return this.#options.actions.run !== undefined;
  }

  get commands(): readonly string[] {
    return this.#state.commands;
  }

  get frame() {
    return this.#state.frame;
  }

  command: Surroundings['command'] = (action, row) => this.#options.actions.command(action, row);

  views(): readonly string[] {
    return this.#source?.views() ?? [];
  }

  /** Until it ends; rejects when the source cannot be opened or fails. */
  run(): Promise<DashboardEnd['how']> {
    this.draw();
    return this.#ended;
  }

  start(source: DashboardSource): void {
    if (this.#isOver) return;
    this.#source = source;
    source.onNews(() => this.#onNews());
    void source.ended?.then(() => {
      this.#dispatch({ kind: 'ended' });
      this.#onNews();
    });
    this.#tick();
  }

  /** From now on another painter draws. */
  paintWith(painter: Painter, look: Look): void {
    this.#painter = painter;
    this.#look = look;
    this.draw();
  }

  fail(error: unknown): void {
    this.#fail(error);
  }

  end(how: DashboardEnd['how']): void {
    this.#end(how);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Draws nothing any more, and tells the action under way to stop. */
  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#news);
    this.#painter.close();
    this.#actions.abort();
  }

  /** Resolves when no action is under way. */
  settled(): Promise<void> {
    return this.#running;
  }

  input(inputs: readonly Input[]): void {
    for (const input of inputs) {
      const { mode } = this.#state;
      this.#dispatch({ kind: 'input', input });
      // A question is answered by a key that came after it was asked, not by what was typed or pasted along with it.
      if (this.#state.mode.kind === 'confirm' && mode.kind !== 'confirm') break;
    }
    this.draw();
  }

  redraw(): void {
    this.#dispatch({ kind: 'size', size: this.#terminal.size });
    this.draw();
  }

  draw(): void {
    if (!this.#isOver) this.#painter.draw(render(this.#state, this.#look));
  }

  #dispatch(event: Event): void {
    if (this.#isOver) return;
    const { intervalMs } = this.#state;
    const { state, effects } = reduce(this.#state, event, this);
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
    if (this.#source !== null && this.#state.intervalMs !== intervalMs) this.#arm();
  }

  #perform(effect: Effect): void {
    switch (effect.kind) {
      case 'end':
        this.#end(effect.how);
        return;
      case 'look':
        this.#source?.look(effect.id);
        return;
      case 'select':
        this.#source?.select(effect.view);
        return;
      case 'refresh':
        this.#refresh(false);
        return;
      case 'redraw':
        this.#painter.restart();
        return;
      case 'suspend':
        this.#terminal.suspend();
        return;
      case 'run':
        this.#running = this.#act(effect);
    }
  }

  async #act({ action, row }: Extract<Effect, { kind: 'run' }>): Promise<void> {
    let text = '';
    let isError = false;
    try {
      text = (await this.#options.actions.run?.(action, row, this.#actions.signal)) ?? '';
    } catch (error) {
      // An error that nobody foresaw is not for the message line.
      if (!(error instanceof LbctlError)) this.#fail(error);
      text = error instanceof Error ? error.message : String(error);
      isError = true;
    }
    this.#dispatch({ kind: 'done', text, isError });
    this.draw();
  }

  #tick(): void {
    this.#refresh(true);
    this.draw();
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (!this.#isOver) this.#timer = setTimeout(() => this.#tick(), this.#state.intervalMs);
  }

  #onNews(): void {
    if (this.#news !== undefined || this.#isOver) return;
    const waitMs = Math.max(0, leastMs - (performance.now() - this.#refreshedAt));
    this.#news = setTimeout(() => {
      this.#news = undefined;
      this.#refresh(false);
      this.draw();
    }, waitMs);
  }

  #refresh(isSample: boolean): void {
    if (this.#source === null || this.#isOver) return;
    this.#refreshedAt = performance.now();
    try {
      this.#dispatch({ kind: 'frame', frame: this.#source.frame(), isSample });
    } catch (error) {
      this.#fail(error);
    }
  }
}
