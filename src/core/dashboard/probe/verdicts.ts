import type { Clock } from '../../model/clock.js';
import { sum } from '../../model/sum.js';
import type { AddressFigures } from '../feed.js';

/** Rates are of the last ten seconds, counted by the second. */
const rateSeconds = 10;

interface Second {
  readonly number: number;
  answers: number;
  wrong: number;
}

interface Verdict {
  /** That was the last one. */
  isWrong: boolean;
  /** Wrong ones, by what they said. */
  readonly counts: Map<string, number>;
  /** Oldest first; those without an answer are left out. */
  seconds: readonly Second[];
}

/** What answers said that were OK to gRPC: an instance that answers NOT_SERVING is reached, and yet not healthy. */
export class Verdicts {
  readonly #verdicts = new Map<string, Verdict>();

  constructor(private readonly clock: Clock) {}

  /** An attempt there has ended; what its answer says comes after it. */
  answered(address: string): void {
    const verdict = this.#of(address);
    verdict.isWrong = false;
    this.#second(verdict).answers++;
  }

  /** Its answer was `said`. */
  wrong(address: string, said: string): void {
    const verdict = this.#of(address);
    verdict.isWrong = true;
    verdict.counts.set(said, (verdict.counts.get(said) ?? 0) + 1);
    this.#second(verdict).wrong++;
  }

  appliedTo(figures: ReadonlyMap<string, AddressFigures>): ReadonlyMap<string, AddressFigures> {
    const applied = new Map(figures);
    for (const [address, verdict] of this.#verdicts) {
      const known = figures.get(address);
      if (known === undefined) this.#verdicts.delete(address);
      else if (verdict.counts.size > 0) applied.set(address, this.#applied(verdict, known));
    }
    return applied;
  }

  #applied({ isWrong, counts, seconds }: Verdict, known: AddressFigures): AddressFigures {
    const { OK: ok = 0, ...others } = known.codes;
    const codes: Record<string, number> = others;
    let wrong = 0;
    for (const [said, count] of counts) {
      // A health service can say UNKNOWN, as gRPC can.
      codes[said] = (codes[said] ?? 0) + count;
      wrong += count;
    }
    const recent = seconds.filter(({ number }) => this.#isRecent(number));
    const answers = sum(recent, (second) => second.answers);
    const wrongShare = answers === 0 ? 0 : sum(recent, (second) => second.wrong) / answers;
    return {
      ...known,
      health: isWrong && known.health === 'healthy' ? 'unhealthy' : known.health,
      errorRate: known.errorRate === null ? null : Math.min(1, known.errorRate + wrongShare),
      codes: { ...(ok > wrong && { OK: ok - wrong }), ...codes },
    };
  }

  #of(address: string): Verdict {
    const known = this.#verdicts.get(address) ?? { isWrong: false, counts: new Map(), seconds: [] };
    this.#verdicts.set(address, known);
    return known;
  }

  #second(verdict: Verdict): Second {
    const number = this.#now;
    const last = verdict.seconds.at(-1);
    if (last?.number === number) return last;
    const second = { number, answers: 0, wrong: 0 };
    verdict.seconds = [...verdict.seconds.filter((one) => this.#isRecent(one.number)), second];
    return second;
  }

  #isRecent(second: number): boolean {
    return this.#now - second < rateSeconds;
  }

  get #now(): number {
    return Math.floor(this.clock.monotonic() / 1000);
  }
}
