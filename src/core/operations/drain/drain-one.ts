import { setMaxListeners } from 'node:events';
import { OverlayKeys } from '../../discovery/overlay.js';
import type { CallOptions, Etcd } from '../../etcd/port.js';
import { probeOnce } from '../../health/health-gate.js';
import { describeTarget, parseHealthTarget } from '../../health/target.js';
import { LbctlError } from '../../model/errors.js';
import type { Instance } from '../../model/instance.js';
import { type Held, type HoldListener, holdOut } from '../hold.js';
import { livesOn } from '../kept-leases.js';
import { operatorsPause } from '../recorded-pause.js';
import { resumeInstances } from '../resume.js';
import { type Claim, describeHolder, type Holder, isClaim, readClaim, takeClaim } from './claim.js';
import { type Condition, type ConditionName, drainConditions, isPaused, returnConditions } from './conditions.js';
import { FactReader } from './facts.js';
import { pauseAll, type Standing, standingOf } from './pause.js';
import type { DrainInstance, DrainPorts, DrainRequest } from './request.js';
import { Interrupted, isOutage, waitUntilMet } from './wait.js';

/** The command ran and failed. */
export class CommandFailed extends Error {
  constructor(
    readonly command: readonly string[],
    readonly exitCode: number,
  ) {
    super(`"${command.join(' ')}" failed with exit code ${exitCode}`);
  }
}

const probeWithinMs = 1000;

/** How one address ended well. `joined`: another drain of the same command did it. */
export interface Drained {
  readonly instance: DrainInstance;
  readonly joined: boolean;
}

/** From paused to drained, or with a command to back in rotation; one address. */
export class OneDrain {
  readonly #etcd: Etcd;
  readonly #request: DrainRequest;
  readonly #ports: DrainPorts;
  readonly #startedAt: number;
  readonly #reader: FactReader;
  #standing: Standing;
  #signal: AbortSignal;
  /** Why it is not held out any more. */
  #notHeld: LbctlError | null = null;

  constructor(etcd: Etcd, request: DrainRequest, ports: DrainPorts, standing: Standing) {
    this.#etcd = etcd;
    this.#request = request;
    this.#ports = ports;
    this.#standing = standing;
    this.#signal = request.signal;
    this.#reader = new FactReader(etcd, request, ports, standing.address, standing.revision);
    this.#startedAt = ports.clock.monotonic();
  }

  get address(): string {
    return this.#standing.address;
  }

  /**
   * @throws NotMet, Interrupted, CommandFailed; LbctlError: LEASE_LOST, WRITE_CONFLICT (somebody resumed it meanwhile),
   *   GUARD_REFUSED, COMMAND_NOT_FOUND and so on, CHECK_FAILED, ETCD_*
   */
  async run(): Promise<Drained> {
    const { command } = this.#request;
    if (command === null) {
      await this.#heldOut(() => this.#untilDrained());
      return this.#ended('paused', 'drained');
    }
    const claim = await this.#claim(command);
    if (!isClaim(claim)) {
      const isOut = isPaused(await this.#instances());
      return isOut
        ? this.#ended('paused', `restarted by ${claim.by}; it stays out, as it was paused before`, true)
        : this.#ended('up', `drained and resumed by ${claim.by}`, true);
    }
    try {
      this.#signal = AbortSignal.any([this.#request.signal, claim.lost]);
      // Every call that is under way listens: no leak, and no reason for Node to warn on stderr.
      setMaxListeners(0, this.#signal);
      await this.#stillPaused();
      const isOthers = await this.#isPausedByOthers();
      await this.#heldOut(async () => {
        await this.#untilDrained();
        await this.#runCommand(command);
        await this.#untilBack();
        if (this.#notHeld) throw this.#notHeld;
      });
      if (!isOthers) await this.#resume();
      await claim.finish();
      if (isOthers) return this.#ended('paused', 'restarted; it stays out, as it was paused before');
      return this.#ended('up', 'drained, restarted and resumed');
    } catch (error) {
      throw claim.lost.aborted ? claim.lost.reason : error;
    } finally {
      await claim.release();
    }
  }

  /** Ours; or who ran the same command to its good end while we waited. */
  async #claim(command: readonly string[]): Promise<Claim | Holder> {
    const { service, by, overlayRoot } = this.#request;
    const { clock, process } = this.#ports;
    const key = new OverlayKeys(overlayRoot).drain(service, this.address);
    const startedAt = new Date(clock.now()).toISOString();
    const holder: Holder = { by, ...process, startedAt, command, state: 'running' };
    let found: Claim | Holder | null = null;
    let other: Holder | null = null;
    await this.#wait(async (call) => {
      const there = await readClaim(this.#etcd, key, call);
      if (there?.holder.state === 'running') {
        other = there.holder;
        return [{ condition: 'claim', met: false, detail: `${describeHolder(other)} drains it` }];
      }
      if (there && there.modRevision > this.#standing.revision && sameCommand(there.holder, command)) {
        found = there.holder;
        return [{ condition: 'claim', met: true, detail: `${describeHolder(found)} has drained it` }];
      }
      const taken = await takeClaim(this.#etcd, key, holder, this.#ports, call);
      if (!isClaim(taken)) return [{ condition: 'claim', met: false, detail: 'somebody was faster' }];
      found = taken;
      // Nobody but us: no news.
      return other ? [{ condition: 'claim', met: true, detail: `taken over from ${describeHolder(other)}` }] : [];
    });
    return found ?? holder;
  }

  /** Whoever had the claim before us may have resumed it. */
  async #stillPaused(): Promise<void> {
    await this.#wait(async ({ signal }) => {
      const { instances, error } = await pauseAll(this.#etcd, this.#request, [this.address], this.#ports);
      if (error) throw signal.aborted ? new Interrupted() : error;
      const [one] = instances;
      if (one?.changed) this.#standing = await standingOf(this.#etcd, this.#request, one);
      return [];
    });
  }

  /** Somebody's own pause, which was there before: not this drain's to lift. */
  async #isPausedByOthers(): Promise<boolean> {
    return !this.#standing.changed && operatorsPause(await this.#instances()) !== null;
  }

  /** An owner that registers again while `work` goes on, as a restarted server does, is taken out again. */
  async #heldOut(work: () => Promise<void>): Promise<void> {
    const { tell } = this.#ports;
    const listener: HoldListener = {
      again: (address, strategy) => tell(`${address} registered again, and was taken out again (${strategy}).`),
      ended: (address, error) => {
        tell(`${address} is not held out any more: ${error.message}`);
        this.#notHeld = error;
      },
      trouble: (address, reason) => tell(`${address} registered again; taking it out failed: ${reason}`),
    };
    let held: Held | null = null;
    await this.#wait(async () => {
      held ??= await holdOut(this.#etcd, this.#request, [this.address], listener, this.#ports);
      return [];
    });
    try {
      await work();
    } finally {
      await (held as Held | null)?.close();
    }
  }

  async #untilDrained(): Promise<void> {
    const { service, untilIdle, graceMs } = this.#request;
    const wants = { address: this.address, revision: this.#standing.revision, untilIdle, graceMs };
    await this.#wait(async (call) => {
      if (this.#notHeld) throw this.#notHeld;
      const facts = await this.#reader.read(call);
      if (!isPaused(facts.instances)) throw resumedMeanwhile(service, this.address);
      return drainConditions(wants, facts);
    });
  }

  async #runCommand(command: readonly string[]): Promise<void> {
    const { service } = this.#request;
    const startedAt = this.#ports.clock.monotonic();
    const [instance] = await this.#instances();
    this.#tell('command', 'waiting', startedAt, `runs ${command.join(' ')}`);
    const target = { service, address: this.address, id: instance?.id ?? '' };
    const code = await this.#ports.run(command, target, this.#signal);
    if (this.#signal.aborted) throw new Interrupted();
    if (code !== 0) throw new CommandFailed(command, code);
    this.#tell('command', 'met', startedAt, 'exit code 0');
  }

  async #untilBack(): Promise<void> {
    const target = parseHealthTarget(this.#request.health, this.address);
    const probe = this.#ports.probeFor(target);
    await this.#wait(async (call) => {
      const [instances, health] = await Promise.all([
        this.#living(call),
        probeOnce(probe, this.#ports.clock, Math.min(probeWithinMs, call.timeoutMs), call.signal),
      ]);
      return returnConditions(instances, { ...health, detail: `${describeTarget(target)}: ${health.detail}` });
    });
  }

  /** A key that was deleted is remembered with its lease: its owner lives as long as that does. */
  async #living(call: CallOptions): Promise<readonly Instance[]> {
    const instances = await this.#reader.instances(call);
    const deleted = instances.filter(({ admin, pause }) => admin === 'paused' && pause?.strategy === 'delete');
    const kept = deleted.map(({ key, id, dialect, lease }) => ({
      key,
      id,
      dialect,
      value: '',
      lease: lease?.id ?? 0n,
    }));
    const living = new Set((await livesOn(this.#etcd, kept, call)).map(({ key }) => key));
    return instances.filter((one) => !deleted.includes(one) || living.has(one.key));
  }

  async #resume(): Promise<void> {
    const { service, waitMs } = this.#request;
    await this.#wait(async ({ signal, timeoutMs }): Promise<readonly Condition[]> => {
      await this.#reader.instances({ signal, timeoutMs });
      const { instances, error } = await resumeInstances(
        this.#etcd,
        { ...this.#request, selectors: [this.address], confirmWithinMs: waitMs, signal },
        this.#ports,
      );
      if (error) throw signal.aborted ? new Interrupted() : error;
      const one = instances[0];
      if (one?.state === 'up') return [{ condition: 'resumed', met: true, detail: one.condition }];
      throw new LbctlError('CHECK_FAILED', `${this.address} of ${service} is not back: ${one?.condition}`);
    });
  }

  #instances(): Promise<readonly Instance[]> {
    // What the command gets to know besides the address is not worth failing for.
    return this.#reader.instances({ signal: this.#signal }).catch((error) => {
      if (isOutage(error)) return [];
      throw error;
    });
  }

  #wait(look: Parameters<typeof waitUntilMet>[0]): Promise<void> {
    const { clock, progress } = this.#ports;
    return waitUntilMet(look, {
      address: this.address,
      timeoutMs: this.#request.waitMs,
      clock,
      signal: this.#signal,
      progress,
    });
  }

  #tell(condition: ConditionName, state: 'waiting' | 'met', startedAt: number, detail: string): void {
    const waitedMs = Math.round(this.#ports.clock.monotonic() - startedAt);
    this.#ports.progress({ address: this.address, condition, state, waitedMs, detail });
  }

  #ended(state: 'paused' | 'up', condition: string, joined = false): Drained {
    const waitedMs = Math.round(this.#ports.clock.monotonic() - this.#startedAt) + this.#standing.waitedMs;
    const { revision: _, ...standing } = this.#standing;
    return { joined, instance: { ...standing, state, waitedMs, condition } };
  }
}

function sameCommand(holder: Holder, command: readonly string[]): boolean {
  return JSON.stringify(holder.command) === JSON.stringify(command);
}

function resumedMeanwhile(service: string, address: string): LbctlError {
  return new LbctlError(
    'WRITE_CONFLICT',
    `The pause of ${address} of ${service} is gone while it was drained: somebody resumed it, or etcd lost its data`,
    { suggestions: [`lbctl list ${service} shows what is so now.`] },
  );
}
