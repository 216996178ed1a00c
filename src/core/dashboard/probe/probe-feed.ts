import type { EtcdSettings } from '../../etcd/port.js';
import { Caller } from '../../grpc/calls/caller.js';
import { healthCheck } from '../../grpc/calls/method.js';
import { clientOptions } from '../../grpc/client/client-options.js';
import { ClientState } from '../../grpc/policies/client-state.js';
import { formatTarget } from '../../grpc/target.js';
import type { Clock, Timer } from '../../model/clock.js';
import type { ClientFigures, PickTrace } from '../../stats/figures.js';
import { aggregate } from '../aggregate.js';
import { type AddressFigures, type Feed, idleFigures, unknownFigures } from '../feed.js';
import { Verdicts } from './verdicts.js';

export interface ProbeOptions {
  readonly etcd: EtcdSettings;
  readonly service: string;
  /** Calls a second, given how many instances there are. */
  readonly callsPerSecond: (instances: number) => number;
  readonly clock: Clock;
}

const policy = 'p2c_ewma';
const deadlineMs = 2000;
/** Instances that hang must not pile up calls. */
const mostInFlight = 64;
/** A stopped process must not make up for all that it missed. */
const mostAtOnce = 10;
/** What is read is as of so long ago at most: ten frames a second need not count the few calls anew each time. */
const countAgainMs = 250;
const mostTraced = 16;

/** Two calls a second, and one more for every ten instances: each is called every few seconds, and none feels it. */
export function usualProbeRate(instances: number): number {
  return 2 + instances / 10;
}

/**
 * A client of the service's own making: health checks through the real resolver and policy at a low rate. What it shows is
 * how the service looks from here; other clients' calls are not in it.
 */
export class ProbeFeed implements Feed {
  readonly kind = 'probe';
  readonly sampleSeconds = null;
  readonly view = null;
  readonly #options: ProbeOptions;
  readonly #state: ClientState;
  readonly #caller: Caller;
  readonly #verdicts: Verdicts;
  #timer: Timer | null = null;
  #inFlight = 0;
  #isAnswered = false;
  #known: { readonly atMs: number; readonly figures: ReadonlyMap<string, AddressFigures> } | null = null;

  constructor(options: ProbeOptions) {
    const { etcd, service } = options;
    this.#options = options;
    this.#verdicts = new Verdicts(options.clock);
    this.#state = new ClientState({
      answers: healthCheck.answers,
      onAttempt: ({ address }) => {
        this.#isAnswered = true;
        this.#verdicts.answered(address);
      },
    });
    const { endpoints, ...settings } = etcd;
    this.#caller = new Caller({
      target: formatTarget({ scheme: 'etcd', hosts: endpoints, key: service }),
      options: {
        ...clientOptions({ policy: { policy, health: true }, state: this.#state, observe: false, etcd: settings }),
        'grpc.use_local_subchannel_pool': 1,
      },
      method: healthCheck,
      timeoutMs: deadlineMs,
      metadata: [],
    });
    this.#tick(0);
  }

  policy(): string {
    return policy;
  }

  observers(): null {
    return null;
  }

  figures(): ReadonlyMap<string, AddressFigures> {
    const nowMs = this.#options.clock.monotonic();
    if (this.#known && nowMs - this.#known.atMs < countAgainMs) return this.#known.figures;
    const figures = this.#verdicts.appliedTo(aggregate([this.#client()]));
    this.#known = { atMs: nowMs, figures };
    return figures;
  }

  unlisted(): AddressFigures {
    return this.#isAnswered ? idleFigures : unknownFigures;
  }

  notices(): readonly string[] {
    return [];
  }

  look(): void {}

  detail(address: string): { readonly trace: readonly PickTrace[]; readonly readings: [] } {
    return { trace: this.#state.trace(address, mostTraced), readings: [] };
  }

  views(): readonly string[] {
    return [];
  }

  select(): void {}

  onNews(): void {}

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#caller.close();
  }

  /** This client as any other that publishes its statistics. */
  #client(): ClientFigures {
    const { service, clock } = this.#options;
    const at = new Date(clock.now()).toISOString();
    const instances = this.#state.figures();
    return { id: '', client: 'probe', host: '', pid: 0, service, policy, at, instances, trace: [] };
  }

  /** By the clock, not by the timer: a late timer is made up for, so the rate holds. `owed`: parts of a call. */
  #tick(owed: number): void {
    const { clock, callsPerSecond } = this.#options;
    const rate = callsPerSecond(this.#state.size);
    const startedMs = clock.monotonic();
    const waitMs = Math.max(20, Math.min(1000, ((1 - owed) * 1000) / rate));
    this.#timer = clock.timer(waitMs, () => {
      const due = owed + ((clock.monotonic() - startedMs) * rate) / 1000;
      const calls = Math.min(mostAtOnce, Math.floor(due));
      for (let call = 0; call < calls; call++) this.#call();
      this.#tick(due - Math.floor(due));
    });
  }

  #call(): void {
    if (this.#inFlight >= mostInFlight) return;
    this.#inFlight++;
    void this.#caller.call().then(({ outcome, wrongAnswerFrom }) => {
      this.#inFlight--;
      if (wrongAnswerFrom !== undefined) this.#verdicts.wrong(wrongAnswerFrom, outcome);
    });
  }
}
