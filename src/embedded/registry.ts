import { randomBytes } from 'node:crypto';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import type { Clock } from '../core/model/clock.js';
import { Leases } from './leases.js';
import { refuse } from './refusals.js';
import { MvccStore } from './store.js';
import { WatchHub } from './watch-hub.js';
import type { WireHeader } from './wire.js';

/** Of a cluster that has elected its only member. */
const raftTerm = 2;

/** All that one embedded etcd is, apart from the port that it listens on. */
export class Registry {
  readonly store = new MvccStore();
  readonly leases: Leases;
  readonly watches: WatchHub;
  /** Drawn anew at each start: clients see by it that an empty store is not the one they knew. */
  readonly clusterId = randomId();
  readonly memberId = randomId();

  readonly #streams = new Set<ServerDuplexStream<unknown, unknown>>();

  constructor(clock: Clock) {
    // The leases hear of a revision before the watchers do, so who reacts to an event sees the key under its lease.
    this.leases = new Leases(this.store, clock);
    this.watches = new WatchHub(this.store, clock);
  }

  header(revision = this.store.revision): WireHeader {
    return { cluster_id: this.clusterId, member_id: this.memberId, revision, raft_term: raftTerm };
  }

  /** The stream will be told when the server stops. */
  track<Q, R>(stream: ServerDuplexStream<Q, R>): void {
    const tracked = stream as ServerDuplexStream<unknown, unknown>;
    this.#streams.add(tracked);
    stream.once('close', () => this.#streams.delete(tracked));
  }

  close(): void {
    this.leases.close();
    this.watches.close();
    // grpc-js makes the status of a stream from the error that it emits.
    for (const stream of this.#streams) stream.emit('error', refuse.stopped());
  }
}

const randomId = () => randomBytes(8).readBigUInt64BE().toString();
