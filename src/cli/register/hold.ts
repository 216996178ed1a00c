import type { GateState } from '../../core/health/gate.js';
import { HealthGate, probeOnce } from '../../core/health/health-gate.js';
import type { Probe } from '../../core/health/probe.js';
import { type Clock, sleep } from '../../core/model/clock.js';
import { formatDuration } from '../../core/model/duration.js';
import { LbctlError, messageOf } from '../../core/model/errors.js';
import type { EndingSignal } from '../exit-codes.js';
import type { Interruption } from '../lifetime.js';
import { exitCodeOf } from '../wrapped-command/exit-status.js';
import { forwardSignals } from '../wrapped-command/forwarded-signals.js';
import { WrappedCommand } from '../wrapped-command/wrapped-command.js';

/** The registration, as far as holding it goes. */
export interface Registration {
  /** Clients may see it: it was registered, and its end is not confirmed. */
  readonly isUp: boolean;
  /** Registers, and again whenever it gets lost. `refused`: etcd said that trying again is of no use. */
  start(refused: (error: unknown) => void): void;
  withdraw(reason: string): void;
  restore(): void;
  /** Takes it back for good; rejects when etcd did not confirm that within `timeoutMs`. */
  stop(timeoutMs: number): Promise<void>;
}

export interface HoldPlan {
  readonly command: readonly string[];
  readonly probe: Probe | null;
  /** What the probe asks, for people. */
  readonly target: string;
  readonly drainDelayMs: number;
  readonly killAfterMs: number;
  /** A hang-up then means that the person has gone; without one it is a signal to the command like any other. */
  readonly hasTerminal: boolean;
}

export interface HoldPorts {
  readonly clock: Clock;
  readonly registration: Registration;
  readonly report: (state: string, detail: string) => void;
  /** What would end the process goes to the handler from now on. */
  readonly takeOver: (handler: (cause: Interruption) => void) => void;
}

/** The first of: a signal, the end of the command, a refusal by etcd that nothing will change. */
type Cause = { readonly signal: EndingSignal } | { readonly refusal: unknown } | 'command ended';

/** Taking back a registration while etcd is away is not waited for longer than this; the lease runs out by itself. */
const withdrawLimitMs = 3000;
/** One look at the address before the command starts. Refused is the rule, and comes at once. */
const lookLimitMs = 300;

/**
 * Holds a registration until a signal, or the end of the command. The order of an orderly end: out of etcd, drain delay,
 * then the signal to the command.
 */
export class Hold {
  readonly #plan: HoldPlan;
  readonly #ports: HoldPorts;
  readonly #gate: HealthGate | null;
  readonly #cause: Promise<Cause>;
  #settle: (cause: Cause) => void = () => undefined;
  #command: WrappedCommand | null = null;
  #registering = false;
  /** What one more SIGINT does; null before the first. */
  #hurry: (() => void) | null = null;

  constructor(plan: HoldPlan, ports: HoldPorts) {
    this.#plan = plan;
    this.#ports = ports;
    const { probe } = plan;
    this.#gate = probe && new HealthGate({ probe, clock: ports.clock, onChange: (state) => this.#onHealth(state) });
    this.#cause = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /**
   * Resolves with the exit code; nothing of the command runs then.
   * @throws what the start of the command, or the registration, was refused with.
   */
  async run(): Promise<number> {
    this.#ports.takeOver((interruption) => this.#onInterruption(interruption));
    const stopForwarding = await this.#startCommand();
    if (this.#gate) this.#gate.start();
    else this.#register();
    const cause = await this.#cause;
    this.#gate?.stop();
    try {
      if (cause !== 'command ended' && 'signal' in cause) return await this.#endInOrder(cause.signal);
      // At once: nobody serves the address any more, and what the command left behind must end.
      this.#hurry = () => this.#command?.kill();
      const [, code] = await Promise.all([this.#withdraw(), this.#stopCommand('SIGTERM')]);
      if (cause !== 'command ended') throw cause.refusal;
      return code;
    } finally {
      stopForwarding();
    }
  }

  async #startCommand(): Promise<() => void> {
    const { command, probe, killAfterMs, target } = this.#plan;
    const { clock, report } = this.#ports;
    if (command.length === 0) return () => undefined;
    if (probe && (await probeOnce(probe, clock, lookLimitMs)).healthy) {
      report('warning', `${target} answers before the command was started: its health may be that of another process`);
    }
    const started = await WrappedCommand.start(command, {
      clock,
      killAfterMs,
      onUnguarded: (error) =>
        report('warning', `no watchdog (${error.message}): a kill -9 of lbctl would leave the command behind`),
    });
    this.#command = started;
    report('started', `${command[0]}, process ${started.pid}`);
    void started.ended.then((ending) => {
      report('ended', `${command[0]} with exit code ${exitCodeOf(ending)}`);
      this.#settle('command ended');
    });
    return forwardSignals(started);
  }

  #register(): void {
    this.#registering = true;
    this.#ports.registration.start((refusal) => this.#settle({ refusal }));
  }

  #onHealth({ phase, failures, detail }: GateState): void {
    const { registration, report } = this.#ports;
    const { target } = this.#plan;
    if (phase === 'starting') report('waiting', `for ${target}: ${detail}`);
    else if (phase === 'unhealthy') {
      report('unhealthy', `${target} failed ${failures} times in a row: ${detail}`);
      registration.withdraw(`${target}: ${detail}`);
    } else if (failures > 0) report('failing', `${target}: ${detail}`);
    else {
      report('healthy', `${target}: ${detail}`);
      if (this.#registering) registration.restore();
      else this.#register();
    }
  }

  #onInterruption(cause: Interruption): void {
    const wraps = this.#plan.command.length > 0;
    if (cause === 'SIGHUP' && wraps && !this.#plan.hasTerminal) this.#command?.signal('SIGHUP');
    else if (cause === 'EPIPE') {
      // Nobody reads our lines any more; of a command's they are the lesser part.
      if (!wraps) this.#settle({ signal: 'SIGTERM' });
    } else if (this.#hurry && cause === 'SIGINT') this.#hurry();
    else this.#settle({ signal: cause });
  }

  async #endInOrder(signal: EndingSignal): Promise<number> {
    const { registration, report, clock } = this.#ports;
    const { drainDelayMs } = this.#plan;
    const skip = new AbortController();
    this.#hurry = () => skip.abort();
    const wasUp = registration.isUp;
    const problem = await this.#withdraw(skip.signal);
    if (!this.#command) {
      if (problem !== undefined) throw problem;
      return 0;
    }
    if (wasUp && drainDelayMs > 0) {
      report('draining', `${formatDuration(drainDelayMs)} until the command gets ${signal}`);
      void this.#command.ended.then(() => skip.abort());
      await sleep(clock, drainDelayMs, skip.signal);
    }
    this.#hurry = () => this.#command?.kill();
    report('stopping', `the command gets ${signal}`);
    return this.#stopCommand(signal);
  }

  /** Resolves with what went wrong when etcd did not confirm, in time or before `skip`. */
  async #withdraw(skip?: AbortSignal): Promise<unknown> {
    if (!this.#registering) return undefined;
    const { registration, report } = this.#ports;
    const skipped = new Promise<unknown>((resolve) => {
      const error = new LbctlError('ETCD_OUTCOME_UNKNOWN', 'Nobody waited for etcd to confirm');
      skip?.addEventListener('abort', () => resolve(error), { once: true });
    });
    const stopped: Promise<unknown> = registration.stop(withdrawLimitMs).then(
      () => undefined,
      (error) => error,
    );
    const problem = await Promise.race([stopped, skipped]);
    if (problem !== undefined) report('left', `to its lease, which runs out by itself: ${messageOf(problem)}`);
    return problem;
  }

  async #stopCommand(signal: EndingSignal): Promise<number> {
    return this.#command ? exitCodeOf(await this.#command.stop(signal)) : 0;
  }
}
