import { Publisher } from '../../../../src/core/discovery/publisher.js';
import type { Etcd } from '../../../../src/core/etcd/port.js';
import { sleep } from '../../../../src/core/model/clock.js';
import { drainInstances } from '../../../../src/core/operations/drain/drain.js';
import type { DrainPorts, DrainRequest, DrainResult } from '../../../../src/core/operations/drain/request.js';
import { type RollRequest, rollService } from '../../../../src/core/operations/drain/roll.js';
import { encodeObserver } from '../../../../src/core/stats/observer-record.js';
import { ManualClock } from '../../../support/manual-clock.js';
import { type MemoryEtcd, MemoryStore } from '../../../support/memory-etcd.js';

export const service = 'user.rpc';

/** An etcd whose user was killed: from then on nothing is answered any more, and nothing is kept alive. */
function mortal(client: MemoryEtcd, isDead: () => boolean): Etcd {
  return new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        if (isDead()) return name === 'watch' ? { close: async () => {} } : new Promise(() => {});
        const result: unknown = member.apply(target, args);
        // An answer that arrives after the kill is read by nobody.
        if (result instanceof Promise) return result.then((value) => (isDead() ? new Promise(() => {}) : value));
        return result;
      };
    },
  });
}

/** Processes that register themselves, and operators that drain them, all on one clock. */
export class Fleet {
  readonly clock = new ManualClock();
  readonly store = new MemoryStore(this.clock);
  readonly servers = new Map<string, Publisher>();
  connections = 0;
  /** Addresses whose process runs and serves nobody. */
  readonly sick = new Set<string>();
  /** Addresses that serve without being a publisher of ours. */
  readonly serving = new Set<string>();
  readonly basePorts = {
    clock: this.clock,
    rng: () => 0.5,
    defer: (fn: () => void) => void setImmediate(fn),
  };

  static async of(count: number): Promise<Fleet> {
    const fleet = new Fleet();
    for (let index = 1; index <= count; index++) await fleet.startServer(`10.0.0.${index}:80`);
    return fleet;
  }

  /** A client's record; `revision` of etcd as it is by default. */
  observe(name: string, { revision = this.store.revision, inFlight = 0 } = {}): void {
    const [host = '', pid] = name.split('/');
    const calls = new Map(inFlight > 0 ? [['10.0.0.1:80', inFlight] as const] : []);
    const record = { host, pid: Number(pid), client: '', policy: '', revision, inFlight: calls, statistics: '' };
    this.store.put(`lbctl/v1/observers/${service}/${host}-${pid}`, encodeObserver(record));
  }

  /** A go-zero server: a plain key on a lease that it keeps; ends with `stop`. */
  async startForeign(address: string): Promise<{ stop(): Promise<void> }> {
    const lease = await this.store.client().holdLease(10, { lost: () => {} });
    this.store.put(`${service}/${lease.id}`, address, lease.id);
    return { stop: () => lease.revoke() };
  }

  async startServer(address: string): Promise<void> {
    const owner = { host: 'box', pid: this.servers.size, version: '0' };
    const publisher = new Publisher(this.store.client(), { service, address, owner }, this.basePorts);
    this.servers.set(address, publisher);
    await publisher.start();
  }

  async stopServer(address: string): Promise<void> {
    const server = this.servers.get(address);
    this.servers.delete(address);
    await server?.stop();
  }

  /** Runs time on until the promise has settled. */
  async during<T>(promise: Promise<T>, limitMs = 600_000): Promise<T> {
    let done = false;
    const settled = promise.finally(() => {
      done = true;
    });
    settled.catch(() => {});
    for (let passed = 0; !done && passed < limitMs; passed += 50) await this.clock.advance(50);
    if (!done) throw new Error(`not settled after ${limitMs} ms`);
    return settled;
  }

  addresses(): (string | undefined)[] {
    return this.store
      .keys(`${service}/`)
      .map((key) => this.store.get(key)?.value.toString())
      .sort();
  }
}

/** One lbctl process. */
export class Operator {
  readonly progress: string[] = [];
  readonly said: string[] = [];
  readonly commands: string[] = [];
  readonly #interrupt = new AbortController();
  readonly #client: MemoryEtcd;
  readonly etcd: Etcd;
  isDead = false;
  /** What its command does; resolves with the exit code. */
  command: (address: string, signal: AbortSignal) => Promise<number>;

  constructor(
    readonly fleet: Fleet,
    readonly name: string,
  ) {
    this.#client = fleet.store.client();
    this.etcd = mortal(this.#client, () => this.isDead);
    this.command = (address) => this.restart(address);
  }

  /** A restart that a kill cuts in two, as the watchdog would. */
  async restart(address: string, downMs = 300): Promise<number> {
    await this.fleet.stopServer(address);
    await sleep(this.fleet.clock, downMs);
    if (this.isDead) return new Promise(() => {});
    if (!this.fleet.servers.has(address)) await this.fleet.startServer(address);
    return 0;
  }

  kill(): void {
    this.isDead = true;
    this.#client.die();
  }

  interrupt(): void {
    this.#interrupt.abort();
  }

  get signal(): AbortSignal {
    return this.#interrupt.signal;
  }

  ports(): DrainPorts {
    const { fleet } = this;
    const alive = (act: () => void) => {
      if (!this.isDead) act();
    };
    return {
      ...fleet.basePorts,
      process: { host: this.name, pid: 1 },
      host: {
        isThisHost: async (host) => host.startsWith('10.'),
        portUse: async () => ({ established: fleet.connections, listening: true }),
      },
      probeFor: (target) => async () => {
        const address = 'address' in target ? target.address : '';
        const serves = fleet.servers.has(address) || fleet.serving.has(address);
        if (serves && !fleet.sick.has(address)) return 'accepts connections';
        throw new Error('refused');
      },
      run: (command, { address }, signal) => {
        if (this.isDead) return new Promise(() => {});
        this.commands.push(`${command.join(' ')} @${address}`);
        return this.command(address, signal);
      },
      progress: ({ address, condition, state, detail }) =>
        alive(() => this.progress.push(`${address} ${condition} ${state}: ${detail}`)),
      planned: () => {},
      paused: () => {},
      tell: (line) => alive(() => this.said.push(line)),
    };
  }

  drain(selectors: readonly string[], more: Partial<DrainRequest> = {}): Promise<DrainResult> {
    return drainInstances(this.etcd, { ...this.#request(), selectors, ...more }, this.ports());
  }

  roll(command: readonly string[], more: Partial<RollRequest> = {}): Promise<DrainResult> {
    const { verb: _, ...request } = this.#request();
    const asked = { ...request, command, maxUnavailable: 1, restart: false, ...more };
    return rollService(this.etcd, asked, this.ports());
  }

  #request(): Omit<DrainRequest, 'selectors'> {
    return {
      service,
      by: `${this.name}@box`,
      reason: 'deploy',
      minAvailable: { count: 1 },
      strategy: 'auto',
      waitMs: 60_000,
      untilIdle: false,
      graceMs: 0,
      command: null,
      health: 'tcp',
      onFailure: 'keep',
      verb: 'drain',
      signal: this.signal,
    };
  }
}
