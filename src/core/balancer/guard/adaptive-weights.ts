import { isAcceptable } from '../acceptable.js';
import {
  type Balancer,
  type CallOutcome,
  type Candidate,
  distinct,
  noInstance,
  type Picked,
  type PickOptions,
  weightOf,
} from '../balancer.js';

const undeclaredCeiling = 100;

interface Adapted<I extends Candidate> {
  instance: I;
  weight: number;
  ceiling: number;
}

/**
 * A weighted policy whose weights follow how the instances answer: a failure halves a weight, down to 1, a success adds 1,
 * up to what was declared; up to 100 when no instance declares more than 1.
 */
export class AdaptiveWeights<I extends Candidate> implements Balancer<I> {
  #adapted = new Map<string, Adapted<I>>();
  /** A weight has changed since the policy was told. */
  #isDirty = false;

  constructor(private readonly inner: Balancer<Candidate>) {}

  update(instances: readonly I[]): void {
    const set = distinct(instances);
    const isDeclared = set.some((instance) => weightOf(instance) > 1);
    this.#adapted = new Map(
      set.map((instance) => {
        const ceiling = isDeclared ? weightOf(instance) : undeclaredCeiling;
        const known = this.#adapted.get(instance.address) ?? { instance, weight: ceiling, ceiling };
        // One that was at its ceiling is at the new one, whichever way that moved.
        const weight = known.weight === known.ceiling ? ceiling : Math.min(known.weight, ceiling);
        Object.assign(known, { instance, ceiling, weight });
        return [instance.address, known];
      }),
    );
    this.#tell();
  }

  pick(options?: PickOptions): Picked<I> {
    if (this.#isDirty) this.#tell();
    const picked = this.inner.pick(options);
    const adapted = this.#adapted.get(picked.instance.address);
    if (adapted === undefined) throw noInstance();
    return new AdaptedCall(picked, adapted, this.#learn);
  }

  readonly #learn = (adapted: Adapted<I>, { code }: CallOutcome): void => {
    const { weight, ceiling } = adapted;
    adapted.weight = isAcceptable(code) ? Math.min(ceiling, weight + 1) : Math.max(1, Math.floor(weight / 2));
    // A declared weight below 1 is its own floor.
    adapted.weight = Math.min(adapted.weight, ceiling);
    if (adapted.weight !== weight) this.#isDirty = true;
  };

  #tell(): void {
    this.#isDirty = false;
    this.inner.update(
      [...this.#adapted.values()].map(({ instance, weight }) => ({ address: instance.address, weight })),
    );
  }
}

class AdaptedCall<I extends Candidate> implements Picked<I> {
  readonly instance: I;
  #isOpen = true;

  constructor(
    private readonly picked: Picked<Candidate>,
    private readonly adapted: Adapted<I>,
    private readonly learn: (adapted: Adapted<I>, outcome: CallOutcome) => void,
  ) {
    this.instance = adapted.instance;
  }

  done(outcome: CallOutcome): void {
    if (this.#isOpen) this.learn(this.adapted, outcome);
    this.#isOpen = false;
    this.picked.done(outcome);
  }

  abandon(): void {
    this.#isOpen = false;
    this.picked.abandon();
  }
}
