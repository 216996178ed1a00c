/** What etcd itself holds and has held, read without any of lbctl's code: the etcd3 package's plain calls. */
import { noop } from 'cockatiel';
import { Etcd3 } from 'etcd3';

export interface TrueKey {
  readonly key: string;
  readonly value: Buffer;
  readonly modRevision: bigint;
  readonly lease: bigint;
}

export interface TrueEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  /** Empty for a delete. */
  readonly value: Buffer;
  readonly lease: bigint;
  readonly revision: bigint;
  /** Monotonic milliseconds at which this process heard of it. */
  readonly heardAt: number;
}

export interface Truth {
  /** Every key below the prefix now (linearizable), ordered by key. */
  keys(prefix: string): Promise<readonly TrueKey[]>;
  revision(): Promise<bigint>;
  /** The revision of the write. @throws when etcd does not confirm it within that time. */
  put(key: string, value: string | Buffer, withinMs?: number): Promise<bigint>;
  remove(key: string): Promise<bigint>;
  compact(revision: bigint): Promise<void>;
  /** Ids of all leases that live. */
  leases(): Promise<readonly bigint[]>;
  /** All events below the prefix from that revision to now, out of etcd's own history. */
  history(prefix: string, fromRevision: bigint): Promise<readonly TrueEvent[]>;
  isLeader(): Promise<boolean>;
  /** Events as they happen. */
  follow(prefix: string, heard: (event: TrueEvent) => void): Promise<() => void>;
  /** Waits until etcd answers a linearizable read; the monotonic time of that answer. */
  healthy(): Promise<number>;
  close(): void;
}

type WatchStream = Awaited<ReturnType<Etcd3['watchClient']['watch']>>;

/** Where `history` writes to know that it has heard everything before. Never below a service. */
const markerKey = '~history-marker';

export function openTruth(endpoint: string): Truth {
  const client = new Etcd3({
    hosts: endpoint,
    // The default handling retries writes, and opens a breaker on the very outages that are made here.
    faultHandling: { host: () => noop, global: noop },
    grpcOptions: {
      'grpc.initial_reconnect_backoff_ms': 50,
      'grpc.max_reconnect_backoff_ms': 100,
      'grpc.max_receive_message_length': 64 << 20,
    },
  });
  const within = (ms = 3000) => ({ deadline: Date.now() + ms });
  const put = async (key: string, value: string | Buffer, withinMs?: number) => {
    const { header } = await client.kv.put({ key: Buffer.from(key), value: Buffer.from(value) }, within(withinMs));
    return BigInt(header.revision);
  };
  const revision = async () =>
    BigInt((await client.kv.range({ key: Buffer.from(markerKey) }, within())).header.revision);

  /** Every key is watched and filtered here: the end of a history is a marker outside of every prefix. */
  const watch = async (from: bigint, heard: (event: TrueEvent) => void): Promise<WatchStream> => {
    const stream = await client.watchClient.watch();
    await new Promise<void>((resolve, reject) => {
      stream.on('error', reject);
      stream.on('data', (response) => {
        if (response.canceled) reject(new Error(`etcd refused the watch: ${response.cancel_reason}`));
        if (response.created) resolve();
        for (const event of response.events ?? []) {
          heard({
            type: event.type === 'Delete' ? 'delete' : 'put',
            key: event.kv.key.toString(),
            value: event.kv.value,
            lease: BigInt(event.kv.lease),
            revision: BigInt(event.kv.mod_revision),
            heardAt: performance.now(),
          });
        }
      });
      stream.write({
        create_request: {
          key: Buffer.from('\0'),
          range_end: Buffer.from('\0'),
          start_revision: String(from),
          fragment: true,
        },
      });
    });
    return stream;
  };

  return {
    async keys(prefix) {
      const { kvs } = await client.kv.range({ key: Buffer.from(prefix), range_end: endOf(prefix) }, within());
      return kvs.map((kv) => ({
        key: kv.key.toString(),
        value: kv.value,
        modRevision: BigInt(kv.mod_revision),
        lease: BigInt(kv.lease),
      }));
    },
    revision,
    put,
    async remove(key) {
      const { header } = await client.kv.deleteRange({ key: Buffer.from(key) }, within());
      return BigInt(header.revision);
    },
    async compact(at) {
      await client.kv.compact({ revision: String(at), physical: true }, within());
    },
    async leases() {
      const { leases } = await client.leaseClient.leaseLeases(within());
      return leases.map(({ ID }) => BigInt(ID));
    },
    async history(prefix, fromRevision) {
      const events: TrueEvent[] = [];
      const end = await put(markerKey, '');
      let reached = () => {};
      const all = new Promise<void>((resolve) => {
        reached = resolve;
      });
      const stream = await watch(fromRevision, (event) => {
        if (event.key.startsWith(prefix) && event.revision < end) events.push(event);
        if (event.revision >= end) reached();
      });
      await all;
      stream.cancel();
      return events;
    },
    async isLeader() {
      const { header, leader } = await client.maintenance.status(within());
      return header.member_id === leader;
    },
    async follow(prefix, heard) {
      const stream = await watch(0n, (event) => {
        if (event.key.startsWith(prefix)) heard(event);
      });
      return () => stream.cancel();
    },
    async healthy() {
      for (;;) {
        try {
          await client.kv.range({ key: Buffer.from(markerKey) }, within(500));
          return performance.now();
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    },
    close: () => client.close(),
  };
}

function endOf(prefix: string): Buffer {
  const end = Buffer.from(prefix);
  end[end.length - 1] = (end[end.length - 1] ?? 0) + 1;
  return end;
}
