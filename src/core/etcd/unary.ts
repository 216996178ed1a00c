import type { CallOptions as GrpcCallOptions } from '@grpc/grpc-js';
import { type Clock, type Rng, sleep } from '../model/clock.js';
import { LbctlError, messageOf } from '../model/errors.js';
import { fullJitterMs } from './backoff.js';
import type { EndpointBalancer } from './balancer.js';
import { type CallTap, tapCall } from './call-tap.js';
import { classify, type Failure, outcomeUnknown } from './errors.js';
import type { Host, Link } from './link.js';
import type { CallOptions } from './port.js';
import type { TokenSource } from './token.js';

export interface UnaryCall<T> {
  /** To follow "Could not": `list user.rpc/`. */
  readonly what: string;
  /** Called once an attempt, when a connection is there. */
  run(link: Link, options: GrpcCallOptions): Promise<T>;
  /** `once`: not repeated as soon as it may have taken effect. */
  readonly repeat: 'safe' | 'once';
  /** Goes without a token. */
  readonly anonymous?: boolean;
  /** Answered by a member that has no leader, too. */
  readonly leaderless?: boolean;
  /** Asks this endpoint and no other. */
  readonly only?: Host;
}

export interface UnaryDeps {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly balancer: EndpointBalancer<Host>;
  readonly dialTimeoutMs: number;
  readonly commandTimeoutMs: number;
  readonly user?: string | undefined;
  /** Null when no account was given. */
  readonly tokens: () => TokenSource | null;
  readonly closing: AbortSignal;
}

/** Of one call, across its attempts. */
interface Progress {
  readonly deadlineAt: number;
  readonly ended: AbortSignal;
  tap: CallTap | null;
  /** An attempt whose request may have been sent is under way. */
  inFlight: boolean;
  readonly failures: Map<string, LbctlError>;
}

type Attempt<T> = { readonly value: T } | { readonly failure: Failure; readonly token: string | null };

/** Runs single calls: chooses the endpoint, bounds every attempt, repeats what is safe to repeat. */
export class UnaryRunner {
  readonly #deps: UnaryDeps;
  /** A connection that never worked is reported at once; one that did is waited for, within the call's time. */
  #everAnswered = false;

  constructor(deps: UnaryDeps) {
    this.#deps = deps;
  }

  async call<T>(call: UnaryCall<T>, options: CallOptions = {}): Promise<T> {
    const { clock, closing, commandTimeoutMs } = this.#deps;
    const timeoutMs = options.timeoutMs ?? commandTimeoutMs;
    const ended = new AbortController();
    const progress: Progress = {
      deadlineAt: clock.monotonic() + timeoutMs,
      ended: ended.signal,
      tap: null,
      inFlight: false,
      failures: new Map(),
    };
    const calledOff = [closing, options.signal].filter((signal) => signal !== undefined);
    return new Promise<T>((resolve, reject) => {
      const finish = (settle: () => void) => {
        timer.cancel();
        for (const signal of calledOff) signal.removeEventListener('abort', onCalledOff);
        settle();
        ended.abort();
      };
      const giveUp = (error: LbctlError) => {
        const unknown = progress.inFlight && call.repeat === 'once';
        finish(() => reject(unknown ? outcomeUnknown(call.what, error) : error));
        progress.tap?.cancel();
      };
      const onCalledOff = () =>
        giveUp(new LbctlError('TIMEOUT', `Could not ${call.what}: it was called off before etcd answered`));
      // Every attempt has a deadline of its own; this one also covers the token and the pauses between.
      const timer = clock.timer(timeoutMs + 100, () => giveUp(this.#outOfTime(call, progress, timeoutMs)));
      for (const signal of calledOff) signal.addEventListener('abort', onCalledOff, { once: true });
      if (calledOff.some((signal) => signal.aborted)) return onCalledOff();
      this.#attempts(call, progress, timeoutMs).then(
        (value) => finish(() => resolve(value)),
        (error: unknown) => finish(() => reject(error)),
      );
    });
  }

  /** For a call made of several: each time what is left of the whole. */
  budget(options: CallOptions): () => CallOptions {
    const { clock, commandTimeoutMs } = this.#deps;
    const endsAt = clock.monotonic() + (options.timeoutMs ?? commandTimeoutMs);
    const signal = options.signal === undefined ? {} : { signal: options.signal };
    return () => ({ ...signal, timeoutMs: Math.max(1, endsAt - clock.monotonic()) });
  }

  async #attempts<T>(call: UnaryCall<T>, progress: Progress, timeoutMs: number): Promise<T> {
    const { balancer, clock, rng } = this.#deps;
    const hosts = call.only ? [call.only] : balancer.all;
    let freshTokens = 0;
    let rounds = 0;
    const triedThisRound = new Set<Host>();
    for (;;) {
      const host = call.only ?? balancer.choose();
      const result = await this.#attempt(call, host, progress);
      progress.inFlight = false;
      if ('value' in result) {
        this.#everAnswered = true;
        balancer.praise(host);
        return result.value;
      }
      const { failure, token } = result;
      // The last attempt is often cut short by the call's own end: its silence says less than a refusal before it.
      if (!failure.silent || !progress.failures.has(host.address)) progress.failures.set(host.address, failure.error);
      if (failure.mayHaveRun && call.repeat === 'once') {
        this.#blame(host, failure);
        throw outcomeUnknown(call.what, failure.error);
      }
      if (failure.remedy === 'token' && token !== null && freshTokens < 2) {
        this.#deps.tokens()?.invalidate(token);
        freshTokens++;
        continue;
      }
      if (failure.remedy !== 'elsewhere') throw failure.error;
      this.#blame(host, failure);
      triedThisRound.add(host);
      if (progress.deadlineAt - clock.monotonic() < 20) throw this.#outOfTime(call, progress, timeoutMs);
      if (triedThisRound.size < hosts.length) continue;
      if (!this.#everAnswered) throw this.#outOfTime(call, progress, timeoutMs);
      triedThisRound.clear();
      const pauseMs = fullJitterMs(++rounds, rng, 50, 1000);
      await sleep(clock, Math.min(pauseMs, progress.deadlineAt - clock.monotonic()), progress.ended);
      if (progress.ended.aborted) throw failure.error;
    }
  }

  async #attempt<T>(call: UnaryCall<T>, host: Host, progress: Progress): Promise<Attempt<T>> {
    const { clock, dialTimeoutMs } = this.#deps;
    const startedAt = clock.monotonic();
    const remainingMs = progress.deadlineAt - startedAt;
    const context = { what: call.what, address: host.address, secure: host.endpoint.secure, user: this.#deps.user };
    const link = host.begin('unary');
    try {
      const dialMs = Math.min(dialTimeoutMs, remainingMs);
      if (!(await link.settle(dialMs, clock))) {
        const status = { code: 4, details: 'Waiting for LB pick' };
        return { failure: classify(status, { ...context, waitedMs: dialMs }), token: null };
      }
      const token = call.anonymous ? null : ((await this.#deps.tokens()?.get()) ?? null);
      // The call may have ended while the token was fetched: nothing may be sent then.
      if (progress.ended.aborted) throw new LbctlError('TIMEOUT', `Could not ${call.what}: it was called off`);
      const attemptMs = Math.max(1, this.#attemptMs(call, progress.deadlineAt - clock.monotonic()));
      const tap = tapCall({ token, requireLeader: call.leaderless !== true });
      progress.tap = tap;
      progress.inFlight = true;
      try {
        return { value: await call.run(link, { ...tap.options, deadline: clock.now() + attemptMs }) };
      } catch (error) {
        if (error instanceof LbctlError) throw error;
        const status = tap.status() ?? { code: 13, details: messageOf(error) };
        if (!isOurs(status)) this.#everAnswered = true;
        return { failure: classify(status, { ...context, waitedMs: clock.monotonic() - startedAt }), token };
      }
    } finally {
      link.end();
    }
  }

  /** With other members to ask, a silent one gets half of the time at most. */
  #attemptMs(call: UnaryCall<unknown>, remainingMs: number): number {
    const canMove = call.repeat === 'safe' && !call.only && this.#deps.balancer.all.length > 1;
    return canMove ? Math.min(remainingMs, Math.max(this.#deps.dialTimeoutMs, remainingMs / 2)) : remainingMs;
  }

  #blame(host: Host, failure: Failure): void {
    this.#deps.balancer.blame(host);
    if (failure.silent) host.renew('unary');
    if (failure.refused) host.refused();
  }

  #outOfTime(call: UnaryCall<unknown>, progress: Progress, timeoutMs: number): LbctlError {
    const failures = [...progress.failures.values()];
    const last = failures.at(-1);
    if (last === undefined) {
      return new LbctlError('ETCD_TIMEOUT', `Could not ${call.what}: no answer within ${timeoutMs / 1000}s`, {
        suggestions: ['Give it more time with --command-timeout 20s.'],
      });
    }
    if (failures.length === 1) return last;
    const reasons = failures.map((error) => error.message.replace(`Could not ${call.what}: `, ''));
    return new LbctlError(last.code, `Could not ${call.what}: ${reasons.join('; ')}`, {
      suggestions: last.suggestions,
      cause: last,
    });
  }
}

/** Statuses that grpc-js made up on this side: no server has been heard. */
function isOurs({ code, details }: { code: number; details: string }): boolean {
  return code === 4 || (code === 14 && !details.startsWith('etcdserver:'));
}
