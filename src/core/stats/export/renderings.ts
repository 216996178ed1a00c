import type { Clock } from '../../model/clock.js';

/** A reader that comes each 100 ms, the shortest interval there is, finds a new text each time. */
const freshMs = 90;
/** After a rendering comes this many times as long without one: nine leave it a tenth of the program's time. */
const rest = 9;
/** Whoever asks for ever another text waits for each; so many may. */
const mostWaiting = 64;

interface Rendering {
  readonly text: Promise<Buffer>;
  hasBegun: boolean;
  /** Monotonic ms: who asks by then gets this one. */
  freshUntilMs: number;
}

/**
 * Texts for any number of readers, at a bounded price: they are made one at a time, with pauses by what they took. Whoever asks
 * for what was made last gets that while another could not be made anyway; who asks for something else waits.
 */
export class Renderings {
  readonly #clock: Clock;
  readonly #known = new Map<string, Rendering>();
  #turn: Promise<unknown> = Promise.resolve();
  #restUntilMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The text that `render` makes; the same for all who say the same `key`. Null when too many others are waited for.
   * Rejects with what `render` throws.
   */
  text(key: string, render: () => string | Promise<string>): Promise<Buffer> | null {
    this.#forgetOld();
    const known = this.#known.get(key);
    if (known !== undefined) return known.text;
    const waiting = [...this.#known.values()].filter(({ hasBegun }) => !hasBegun);
    if (waiting.length >= mostWaiting) return null;
    const text = this.#turn.then(() => this.#make(rendering, render));
    const rendering: Rendering = { text, hasBegun: false, freshUntilMs: Number.POSITIVE_INFINITY };
    this.#known.set(key, rendering);
    this.#turn = rendering.text.catch(() => {});
    return rendering.text;
  }

  /** What has been made is not so any more. */
  changed(): void {
    for (const [key, { hasBegun }] of this.#known) if (hasBegun) this.#known.delete(key);
  }

  async #make(rendering: Rendering, render: () => string | Promise<string>): Promise<Buffer> {
    const restMs = this.#restUntilMs - this.#clock.monotonic();
    if (restMs > 0) await new Promise<void>((resolve) => this.#clock.timer(restMs, resolve, { background: true }));
    const beganMs = this.#clock.monotonic();
    rendering.hasBegun = true;
    try {
      return Buffer.from(await render());
    } finally {
      const nowMs = this.#clock.monotonic();
      this.#restUntilMs = nowMs + rest * (nowMs - beganMs);
      rendering.freshUntilMs = Math.max(beganMs + freshMs, this.#restUntilMs);
    }
  }

  #forgetOld(): void {
    const nowMs = this.#clock.monotonic();
    for (const [key, { freshUntilMs }] of this.#known) if (nowMs >= freshUntilMs) this.#known.delete(key);
  }
}
