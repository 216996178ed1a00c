import { OverlayKeys } from '../discovery/overlay.js';
import { backOffMs, type DiscoveryPorts, systemPorts } from '../discovery/ports.js';
import type { DiscoveryOptions } from '../discovery/service-ranges.js';
import type { Etcd } from '../etcd/port.js';
import { sleep } from '../model/clock.js';
import { longestTimerMs } from '../model/duration.js';
import { isLbctlError, type LbctlError, messageOf } from '../model/errors.js';
import type { PauseVerb, Strategy } from '../model/instance.js';
import { putBack, resumedMeanwhile } from './confirm.js';
import { type Look, Looking } from './looking.js';
import { pauseDirection } from './pause.js';
import { isUp } from './plan.js';
import type { StrategyChoice } from './strategy.js';
import { writeChange } from './write.js';

export interface HoldRequest extends DiscoveryOptions {
  readonly service: string;
  readonly by: string;
  readonly reason?: string;
  readonly verb: PauseVerb;
  readonly strategy?: StrategyChoice;
}

export interface HoldListener {
  /** Its owner had come back, and it was taken out again. */
  again(address: string, strategy: Strategy): void;
  /** It is not held any more: somebody resumed it, or its owner puts it back faster than it can be taken out. */
  ended(address: string, error: LbctlError): void;
  /** Taking it out again failed and is tried again. */
  trouble?(address: string, reason: string): void;
}

export interface Held {
  /** Stops holding; what is out stays out. */
  close(): Promise<void>;
}

/** Two programs that undo each other's work for ever help nobody. */
const mostAgain = 5;
const againWithinMs = 10_000;

/**
 * Keeps paused addresses out for as long as it is open: an owner that registers again (its lease was lost, its process was
 * restarted, etcd was wiped) is taken out again. What an operator resumes is let go.
 */
export async function holdOut(
  etcd: Etcd,
  request: HoldRequest,
  addresses: readonly string[],
  listener: HoldListener,
  ports: DiscoveryPorts = systemPorts,
): Promise<Held> {
  const holder = new Holder(etcd, request, addresses, listener, ports);
  await holder.start();
  return holder;
}

class Holder implements Held {
  readonly #etcd: Etcd;
  readonly #request: HoldRequest;
  readonly #listener: HoldListener;
  readonly #ports: DiscoveryPorts;
  readonly #looking: Looking;
  readonly #closing = new AbortController();
  /** When each was taken out again lately. */
  readonly #held: Map<string, number[]>;
  readonly #guardKey: string;
  /** How each is out, remembered for an etcd that forgets it. */
  readonly #strategies = new Map<string, Strategy>();
  #guardVersion = 0n;
  #running: Promise<void> = Promise.resolve();

  constructor(
    etcd: Etcd,
    request: HoldRequest,
    addresses: readonly string[],
    listener: HoldListener,
    ports: DiscoveryPorts,
  ) {
    this.#etcd = etcd;
    this.#request = request;
    this.#listener = listener;
    this.#ports = ports;
    this.#held = new Map(addresses.map((address) => [address, []]));
    this.#guardKey = new OverlayKeys(request.overlayRoot).guard(request.service);
    this.#looking = new Looking(etcd, request.service, request, ports);
  }

  async start(): Promise<void> {
    try {
      this.#guardVersion = await this.#readGuard();
    } catch (error) {
      await this.#looking.close();
      throw error;
    }
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#looking.close(), this.#running]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 0; !signal.aborted && this.#held.size > 0; ) {
      const back = await this.#looking.until((look) => this.#back(look), { withinMs: longestTimerMs, signal });
      if (!back.found) continue;
      try {
        await this.#takeOutAgain(back.found.address, back.found.strategy);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (isLbctlError(error, 'NOT_MANAGED')) this.#end(back.found.address, error);
        else this.#listener.trouble?.(back.found.address, messageOf(error));
        await sleep(this.#ports.clock, backOffMs(failures++, this.#ports.rng), signal);
      }
    }
  }

  /** One that takes calls though it should not; a publisher of ours that is about to obey is none. */
  #back({ instances, state }: Look): { address: string; strategy: Strategy | null } | undefined {
    for (const address of this.#held.keys()) {
      const strategy = state.pauseRecord(address)?.strategy ?? null;
      if (strategy) this.#strategies.set(address, strategy);
      const up = instances.filter((one) => one.address === address && isUp(one));
      if (up.length === 0) continue;
      if (strategy === 'managed' && up.every((one) => one.owner !== null)) continue;
      return { address, strategy };
    }
    return undefined;
  }

  async #takeOutAgain(address: string, recorded: Strategy | null): Promise<void> {
    const { service, verb } = this.#request;
    // Without a record: in an etcd that was wiped the guard is younger, otherwise somebody meant it.
    if (recorded === null && (await this.#readGuard()) >= this.#guardVersion) {
      this.#end(address, resumedMeanwhile(service, address));
      return;
    }
    const now = this.#ports.clock.monotonic();
    const lately = (this.#held.get(address) ?? []).filter((at) => now - at < againWithinMs);
    if (lately.length >= mostAgain) {
      this.#end(address, putBack(service, address, recorded ?? 'managed'));
      return;
    }
    const known = recorded ?? this.#strategies.get(address);
    const strategy = known ?? this.#request.strategy ?? 'auto';
    const direction = pauseDirection(
      { ...this.#request, selectors: [address], strategy, verb, minAvailable: { count: 0 } },
      null,
      this.#ports,
      true,
    );
    const { signal } = this.#closing;
    const written = await writeChange(
      this.#etcd,
      service,
      direction,
      [address],
      { ...this.#request, signal },
      this.#ports,
    );
    if (written === null) return;
    this.#held.set(address, [...lately, now]);
    this.#guardVersion = await this.#readGuard().catch(() => 1n);
    this.#listener.again(address, known ?? 'managed');
  }

  #end(address: string, error: LbctlError): void {
    this.#held.delete(address);
    this.#listener.ended(address, error);
  }

  async #readGuard(): Promise<bigint> {
    const { signal } = this.#closing;
    return (await this.#etcd.list({ key: this.#guardKey }, { signal })).kvs[0]?.version ?? 0n;
  }
}
