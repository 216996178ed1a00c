/** One etcd with servers of one service and what drives lbctl against it; everything ends with `close`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Ended, type Live, run, start } from '../../support/cli.js';
import { type EtcdProcess, startEtcd } from '../../support/etcd-process.js';
import { openTruth, type TrueEvent, type TrueKey, type Truth } from '../../support/etcd-truth.js';
import { until } from '../../support/until.js';
import { type Call, type GoClient, type GoServer, type Program, startGoClient, startGoServer } from './programs.js';

type ClientOptions = Omit<Parameters<typeof startGoClient>[1], 'etcd' | 'service'>;

export class Scene {
  readonly etcd: EtcdProcess;
  readonly truth: Truth;
  /** `127.0.0.1:port` of etcd. */
  readonly endpoint: string;
  readonly #cleanups: Array<() => unknown> = [];

  private constructor(etcd: EtcdProcess) {
    this.etcd = etcd;
    this.endpoint = etcd.endpoint.replace('http://', '');
    this.truth = openTruth(etcd.endpoint);
    this.onClose(() => etcd.stop());
    this.onClose(() => this.truth.close());
  }

  static async open(): Promise<Scene> {
    return new Scene(await startEtcd());
  }

  /** Runs in the reverse order. */
  onClose(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }

  async server(program: Program, service: string, latencyMs = 0): Promise<GoServer> {
    const where = { etcd: this.endpoint, service, latencyMs };
    const server = await startGoServer(program, where, (address) => this.soon(() => this.keyOf(service, address)));
    this.onClose(() => server.kill());
    return server;
  }

  servers(program: Program, service: string, count: number, latencyMs = 0): Promise<GoServer[]> {
    return Promise.all(Array.from({ length: count }, () => this.server(program, service, latencyMs)));
  }

  /** A client, once each of `servers` has answered it a call (one whose rate is 0: at once). */
  async client(program: Program, service: string, options: ClientOptions, servers: readonly GoServer[] = []) {
    const client = startGoClient(program, { etcd: this.endpoint, service, ...options });
    this.onClose(() => client.kill());
    for (const { address } of servers) {
      await until(() => client.lastTo(address) > 0, 30_000, `a call to ${address}`);
    }
    return client;
  }

  /** The keys of a service, in whatever layout. */
  async keys(service: string): Promise<readonly TrueKey[]> {
    const plain = await this.truth.keys(`${service}/`);
    return [...plain, ...(await this.truth.keys(`/microservices/${service}/`))];
  }

  /** The key whose value names this address. */
  async keyOf(service: string, address: string): Promise<TrueKey | undefined> {
    return (await this.keys(service)).find(({ value }) => value.includes(address));
  }

  /** For `until`: asks etcd twenty times a second, not as fast as it answers. */
  async soon<T>(ask: () => Promise<T>): Promise<T> {
    await sleep(50);
    return ask();
  }

  lbctl(...args: string[]): Promise<Ended> {
    return run(args, { env: this.env });
  }

  /** One that goes on running. */
  start(...args: string[]): Live {
    const live = start(args, { env: this.env, timeoutMs: 110_000 });
    this.onClose(() => live.kill());
    return live;
  }

  /** The document of `list`, with what is asked of each instance. */
  async list(service: string): Promise<ListedInstance[]> {
    return JSON.parse((await this.lbctl('list', service, '--json')).stdout).instances;
  }

  /** What happens from now on to keys that hold or held this address, and when (ms since the epoch) that was heard. */
  async changes(service: string, address: string): Promise<readonly Change[]> {
    const heard: Change[] = [];
    const keys = new Set([(await this.keyOf(service, address))?.key]);
    const end = await this.truth.follow('', (event) => {
      if (event.value.includes(address) && !event.key.startsWith('lbctl/')) keys.add(event.key);
      if (keys.has(event.key)) heard.push({ ...event, at: Date.now() });
    });
    this.onClose(end);
    return heard;
  }

  get env() {
    return { LBCTL_ENDPOINTS: this.etcd.endpoint };
  }
}

export interface Change extends TrueEvent {
  readonly at: number;
}

export interface ListedInstance {
  readonly address: string;
  readonly id: string;
  readonly key: string;
  readonly dialect: string;
  readonly admin: 'up' | 'paused';
  readonly lease: { readonly id: string; readonly ttlSeconds: number } | null;
  readonly pause: { readonly strategy: string; readonly reason: string | null; readonly cameBack: boolean } | null;
  readonly notes: readonly string[];
}

export const failedOf = (calls: readonly Call[]) => calls.filter(({ code }) => code !== 'OK');

/** When the first call since then that this server answered was started (ms since the epoch), Infinity without one. */
export function firstTo(client: GoClient, address: string, since: number): number {
  return Math.min(...client.calls.filter(({ server, at }) => server === address && at > since).map(({ at }) => at));
}

/** The server that answered most of the calls. */
export function busiest(client: GoClient, servers: readonly GoServer[]): GoServer {
  const callsTo = ({ address }: GoServer) => client.calls.filter(({ server }) => server === address).length;
  const [first] = [...servers].sort((a, b) => callsTo(b) - callsTo(a));
  if (!first) throw new Error('There are no servers');
  return first;
}

/** The value that takes a go-zero server out. */
export const maskOf = (address: string) => `lbctl-paused:${address}`;
export const textOf = (change: Change | undefined) => change?.value.toString();
/** As etcdctl takes lease ids. */
export const hex = (lease: bigint | undefined) => (lease ?? 0n).toString(16);

/** The instance of which list says that it came back, once its server has registered the address again. */
export async function cameBack(scene: Scene, service: string, address: string) {
  const isBack = async () => (await scene.keys(service)).some(({ value }) => value.toString() === address);
  await until(() => scene.soon(isBack), 30_000, `${address} to come back`);
  return (await scene.list(service)).find(({ notes }) => notes.includes('CAME-BACK'));
}
