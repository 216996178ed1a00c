import { checkServiceName } from '../../dialects/layout.js';
import { backOffMs } from '../../discovery/ports.js';
import { Subscriber } from '../../discovery/subscriber.js';
import { connect } from '../../etcd/connection.js';
import { parseEndpoints } from '../../etcd/endpoints.js';
import type { Etcd, EtcdSettings } from '../../etcd/port.js';
import { sleep, systemClock, systemRng } from '../../model/clock.js';
import { isLbctlError, LbctlError, messageOf } from '../../model/errors.js';
import type { ChannelSettings } from '../channel-options.js';
import type { EtcdTarget } from '../target.js';
import { Observation } from './observation.js';
import { inRotation } from './rotation.js';
import type { Sink, Source } from './source.js';

/** etcd hashes a password slowly on purpose: a wrong one is not offered to it every second by every client. */
const refusedWaitMs = 5000;

/**
 * What a subscriber of the service knows. Channels with equal endpoints and settings share one connection to etcd. The
 * watch is an open call: until the channel is closed or idle it holds the process.
 * @throws USAGE for endpoints or a key that cannot be.
 */
export function etcdSource(target: EtcdTarget, settings: ChannelSettings): Source {
  const etcdSettings = { ...settings.etcd, endpoints: target.hosts };
  parseEndpoints(etcdSettings);
  checkServiceName(target.key);
  return {
    open(sink) {
      const session = new EtcdSession(target, etcdSettings, settings, sink);
      return () => session.close();
    },
  };
}

class EtcdSession {
  readonly #target: EtcdTarget;
  readonly #sink: Sink;
  readonly #settings: ChannelSettings;
  readonly #closing = new AbortController();
  #etcd: Etcd | null = null;
  #subscriber: Subscriber | null = null;
  #observation: Observation | null = null;

  constructor(target: EtcdTarget, etcd: EtcdSettings, settings: ChannelSettings, sink: Sink) {
    this.#target = target;
    this.#settings = settings;
    this.#sink = sink;
    void this.#run(etcd);
  }

  close(): void {
    this.#closing.abort();
    // Side by side: a load that is under way ends when the connection does, not at its deadline. By then there is no record.
    const etcdClosed = (this.#observation?.stop() ?? Promise.resolve()).then(() => this.#etcd?.close());
    void Promise.allSettled([this.#subscriber?.close(), etcdClosed]);
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #run(etcd: EtcdSettings): Promise<void> {
    for (let attempt = 0; !this.#isClosed; attempt++) {
      try {
        return await this.#start(etcd);
      } catch (error) {
        if (this.#isClosed) return;
        this.#sink.failed(isLbctlError(error) ? error : new LbctlError('INTERNAL', messageOf(error), { cause: error }));
        const isRefused = isLbctlError(error, 'ETCD_AUTH_FAILED', 'ETCD_PERMISSION_DENIED', 'ETCD_CERTIFICATE');
        const waitMs = backOffMs(attempt, systemRng) + (isRefused ? refusedWaitMs : 0);
        await sleep(systemClock, waitMs, this.#closing.signal);
      }
    }
  }

  /** Only the first load can fail; whatever happens to etcd later is the subscriber's to bear. */
  async #start(settings: EtcdSettings): Promise<void> {
    const etcd = this.#etcd ?? (await connect(settings));
    this.#etcd = etcd;
    if (this.#isClosed) return etcd.close();
    const { key, hosts } = this.#target;
    const { overlayPrefix, observe, statistics, onWarning } = this.#settings;
    const options = overlayPrefix === undefined ? {} : { overlayRoot: overlayPrefix };
    const subscriber = this.#subscriber ?? new Subscriber(etcd, key, options);
    this.#subscriber = subscriber;
    await subscriber.start();
    if (this.#isClosed) return;
    const ifEmpty = `etcd (${hosts.join(',')}) holds no instance of ${key} that is in rotation`;
    const more = { ...(statistics !== undefined && { statistics }), ...(onWarning !== undefined && { onWarning }) };
    const observation = observe === undefined ? null : new Observation(etcd, key, { ...observe, ...options, ...more });
    this.#observation = observation;
    // At every revision, also one that changed nothing: whoever waits for it has to see that it was applied.
    subscriber.onRevision((revision) =>
      this.#sink.found(inRotation(subscriber.instances()), ifEmpty, (spread, isNews) => {
        if (!this.#isClosed) observation?.applied(revision, spread, isNews);
      }),
    );
  }
}
