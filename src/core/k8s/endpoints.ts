import type { V1EndpointSlice, V1EndpointSliceList, V1Status } from '@kubernetes/client-node';
import { backOffMs } from '../discovery/ports.js';
import { type Clock, type Rng, sleep, systemClock, systemRng } from '../model/clock.js';
import { LbctlError, messageOf } from '../model/errors.js';
import { ApiError, ApiServer } from './api-server.js';
import type { KubernetesSettings } from './settings.js';
import { applyChange, type Pod, podsOf, type SliceChange, type Slices, slicesOf } from './slices.js';

export interface KubernetesService {
  readonly namespace: string;
  readonly service: string;
  /** See `podsOf`. */
  readonly port: number | null;
}

export interface EndpointHandlers {
  /** All pods that take calls, whenever something changed. `ifEmpty` says where none was found. */
  pods(pods: readonly Pod[], ifEmpty: string): void;
  /** The API could not be read, and will be tried again; the pods told last stay true. */
  failed(error: LbctlError): void;
}

export interface FollowTiming {
  /** A list is answered, and a watch begins, within this time. */
  readonly answerWithinMs: number;
  /** The server is asked to end each watch after about so long: one that hears nothing is not trusted for ever. */
  readonly watchSeconds: number;
  /** How much later than asked for the server may end a watch. */
  readonly graceMs: number;
  readonly clock: Clock;
  readonly rng: Rng;
}

const defaults: FollowTiming = {
  answerWithinMs: 10_000,
  watchSeconds: 60,
  graceMs: 5000,
  clock: systemClock,
  rng: systemRng,
};

/** An attempt that lasted this long was a good one, or has waited enough. */
const settledMs = 1000;
/** A right that is missing is not given within a second; the API server is spared. */
const forbiddenWaitMs = 5000;

interface WatchEvent {
  readonly type: SliceChange['type'] | 'BOOKMARK' | 'ERROR';
  readonly object: V1EndpointSlice & V1Status;
}

/** Lists the EndpointSlices of a service, then watches them, until the function it returns is called. */
export function followEndpoints(
  service: KubernetesService,
  handlers: EndpointHandlers,
  settings: KubernetesSettings = {},
  timing: Partial<FollowTiming> = {},
): () => void {
  const follower = new EndpointFollower(service, handlers, settings, { ...defaults, ...timing });
  void follower.run();
  return () => follower.close();
}

class EndpointFollower {
  readonly #service: KubernetesService;
  readonly #handlers: EndpointHandlers;
  readonly #timing: FollowTiming;
  readonly #clock: Clock;
  readonly #api: ApiServer;
  readonly #closing = new AbortController();
  readonly #resource: string;
  #slices: Slices = new Map();
  /** Where the next watch begins; null: history is lost, list again. */
  #resourceVersion: string | null = null;

  constructor(
    service: KubernetesService,
    handlers: EndpointHandlers,
    settings: KubernetesSettings,
    timing: FollowTiming,
  ) {
    this.#service = service;
    this.#handlers = handlers;
    this.#timing = timing;
    const { clock } = timing;
    // As grpc-js's own resolvers: an idle client does not hold the process, a call that waits does.
    this.#clock = { ...clock, timer: (ms, fn) => clock.timer(ms, fn, { background: true }) };
    this.#api = new ApiServer(settings, this.#clock);
    this.#resource = `endpointslices.discovery.k8s.io in namespace ${service.namespace}`;
  }

  close(): void {
    this.#closing.abort();
  }

  async run(): Promise<void> {
    for (let attempt = 0; !this.#closing.signal.aborted; attempt++) {
      const startedAt = this.#clock.monotonic();
      let waitMs = 0;
      try {
        if (this.#resourceVersion === null) await this.#list();
        await this.#watch(this.#resourceVersion ?? '');
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        const status = error instanceof ApiError ? error.status : 0;
        if (status === 410) this.#resourceVersion = null;
        else this.#handlers.failed(asLbctlError(error));
        if (status === 403) waitMs = forbiddenWaitMs;
      }
      if (this.#clock.monotonic() - startedAt >= settledMs) attempt = 0;
      waitMs += backOffMs(attempt, this.#timing.rng);
      await sleep(this.#clock, waitMs, this.#closing.signal);
    }
  }

  async #list(): Promise<void> {
    const { answerWithinMs } = this.#timing;
    const answer = await this.#api.get({ ...this.#request('list', {}), endWithinMs: answerWithinMs });
    if (this.#closing.signal.aborted) return;
    const { items, metadata } = answer as V1EndpointSliceList;
    this.#slices = slicesOf(items ?? []);
    this.#resourceVersion = metadata?.resourceVersion ?? '';
    this.#tell();
  }

  async #watch(resourceVersion: string): Promise<void> {
    const { watchSeconds, graceMs, rng } = this.#timing;
    // Spread, so that the clients of a cluster do not come back in step.
    const timeoutSeconds = Math.ceil(watchSeconds * (0.75 + 0.5 * rng()));
    const query = {
      ...{ watch: 'true', allowWatchBookmarks: 'true' },
      ...{ resourceVersion, timeoutSeconds: String(timeoutSeconds) },
    };
    const request = { ...this.#request('watch', query), endWithinMs: timeoutSeconds * 1000 + graceMs };
    await this.#api.lines(request, (lines) => this.#events(lines as WatchEvent[]));
  }

  #events(events: readonly WatchEvent[]): void {
    if (this.#closing.signal.aborted) return;
    const before = this.#slices;
    try {
      for (const event of events) this.#event(event);
    } finally {
      if (this.#slices !== before) this.#tell();
    }
  }

  #event({ type, object }: WatchEvent): void {
    if (type === 'ERROR') {
      // Whatever broke the server's watch, a list mends it.
      this.#resourceVersion = null;
      throw new ApiError(
        object.code ?? 0,
        `The Kubernetes API broke off to watch ${this.#resource}: ${object.message}`,
      );
    }
    if (type !== 'BOOKMARK') this.#slices = applyChange(this.#slices, { type, slice: object });
    this.#resourceVersion = object.metadata?.resourceVersion ?? this.#resourceVersion;
  }

  #tell(): void {
    const { namespace, service, port } = this.#service;
    const pods = podsOf(this.#slices, port);
    const name = `service ${service} in namespace ${namespace}`;
    const hasNoPort = port === null && pods.length === 0 && podsOf(this.#slices, 1).length > 0;
    const ifEmpty = hasNoPort
      ? `the EndpointSlices of ${name} name no TCP port: give it in the target, as in k8s://${namespace}/${service}:8080`
      : `Kubernetes knows no ready pod of ${name}`;
    this.#handlers.pods(pods, ifEmpty);
  }

  #request(verb: string, query: Readonly<Record<string, string>>) {
    const { namespace, service } = this.#service;
    const parameters = new URLSearchParams({ labelSelector: `kubernetes.io/service-name=${service}`, ...query });
    return {
      path: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?${parameters}`,
      verb,
      resource: this.#resource,
      answerWithinMs: this.#timing.answerWithinMs,
      signal: this.#closing.signal,
    };
  }
}

function asLbctlError(error: unknown): LbctlError {
  return error instanceof LbctlError ? error : new LbctlError('K8S_UNREACHABLE', messageOf(error), { cause: error });
}
