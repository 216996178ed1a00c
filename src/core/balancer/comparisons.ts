import type { Clock } from '../model/clock.js';

/** One side of a comparison that a pick made. */
export interface Compared {
  /** Of the instance. */
  readonly address: string;
  /** The number that was compared; lower is better. */
  readonly load: number;
  /** Calls in flight there before this one. */
  readonly inFlight: number;
}

/** One pick of a policy that compares. */
export interface PickTrace {
  /** ISO 8601. */
  readonly at: string;
  /** The two that were compared; the first alone when there was no other. */
  readonly compared: readonly Compared[];
  /** Address of the instance that got the call. */
  readonly chosen: string;
  /** The loser was chosen because it had not been picked for long. */
  readonly isForced: boolean;
}

const kept = 256;
const second = 1;
const forced = 2;

/** What a policy keeps of one instance, as far as a comparison tells of it. */
interface Side {
  readonly instance: { readonly address: string };
  readonly inFlight: number;
}

/** The last comparisons of a policy, written over in a circle: a pick allocates nothing for them. */
export class Comparisons {
  readonly #clock: Clock;
  #count = 0;
  readonly #atMs = new Float64Array(kept);
  readonly #firsts: string[] = new Array(kept).fill('');
  /** Empty: there was no other. */
  readonly #seconds: string[] = new Array(kept).fill('');
  readonly #loads = new Float64Array(2 * kept);
  readonly #inFlight = new Uint32Array(2 * kept);
  readonly #flags = new Uint8Array(kept);

  /** The clock tells the wall clock's time of a pick when it is asked for. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `atMs` is the monotonic time of the pick. */
  alone(atMs: number, node: Side, load: number): void {
    this.#write(atMs, node, load, 0);
  }

  pair(
    atMs: number,
    one: Side,
    oneLoad: number,
    two: Side,
    twoLoad: number,
    isSecondChosen: boolean,
    isForced: boolean,
  ): void {
    const slot = this.#write(atMs, one, oneLoad, (isSecondChosen ? second : 0) | (isForced ? forced : 0));
    this.#seconds[slot] = two.instance.address;
    this.#loads[2 * slot + 1] = twoLoad;
    this.#inFlight[2 * slot + 1] = two.inFlight;
  }

  #write(atMs: number, { instance, inFlight }: Side, load: number, flags: number): number {
    const slot = this.#count++ % kept;
    this.#atMs[slot] = atMs;
    this.#firsts[slot] = instance.address;
    this.#seconds[slot] = '';
    this.#loads[2 * slot] = load;
    this.#inFlight[2 * slot] = inFlight;
    this.#flags[slot] = flags;
    return slot;
  }

  /** Those in which `address` was compared, newest first, `limit` at most. */
  of(address: string, limit: number): PickTrace[] {
    const found: PickTrace[] = [];
    const toWallMs = this.#clock.now() - this.#clock.monotonic();
    const oldest = Math.max(0, this.#count - kept);
    for (let i = this.#count - 1; i >= oldest && found.length < limit; i--) {
      const slot = i % kept;
      if (this.#firsts[slot] === address || this.#seconds[slot] === address) found.push(this.#read(slot, toWallMs));
    }
    return found;
  }

  #read(slot: number, toWallMs: number): PickTrace {
    const compared = [this.#firsts[slot] ?? '', this.#seconds[slot] ?? '']
      .filter((address) => address !== '')
      .map((address, side) => ({
        address,
        load: this.#loads[2 * slot + side] ?? 0,
        inFlight: this.#inFlight[2 * slot + side] ?? 0,
      }));
    const flags = this.#flags[slot] ?? 0;
    return {
      at: new Date((this.#atMs[slot] ?? 0) + toWallMs).toISOString(),
      compared,
      chosen: compared[flags & second]?.address ?? '',
      isForced: (flags & forced) !== 0,
    };
  }
}
