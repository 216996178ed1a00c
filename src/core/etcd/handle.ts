import { LbctlError } from '../model/errors.js';
import type { Core } from './core.js';
import { urlOf } from './endpoints.js';
import { BeatingLease, grant, leaseInfo, revoke } from './lease.js';
import type { Host } from './link.js';
import { list } from './list.js';
import type {
  CallOptions,
  Etcd,
  HeldLease,
  KeyRange,
  LeaseHandlers,
  LeaseInfo,
  Listing,
  MemberStatus,
  RangeOptions,
  TxnRequest,
  TxnResult,
  Watch,
  WatchHandlers,
  WatchRequest,
} from './port.js';
import { status } from './reads.js';
import { ResumingWatch } from './watch.js';

/** What one user holds of a shared connection: closing it ends this user's watches and leases, and nobody else's. */
export class EtcdHandle implements Etcd {
  readonly endpoints: readonly string[];
  readonly #core: Core;
  readonly #leave: () => void;
  readonly #watches = new Set<Watch>();
  readonly #leases = new Set<HeldLease>();
  #isClosed = false;

  /** `leave` is called once, when this user is done with the connection. */
  constructor(core: Core, leave: () => void) {
    this.#core = core;
    this.#leave = leave;
    this.endpoints = core.balancer.all.map((host) => urlOf(host.endpoint));
  }

  async list(range: KeyRange, options: RangeOptions = {}): Promise<Listing> {
    const listing = await list(this.#open().unary, range, options);
    this.#core.lastHeader = listing.header;
    return listing;
  }

  async txn(request: TxnRequest, options: CallOptions & { idempotent?: boolean } = {}): Promise<TxnResult> {
    const { unary } = await this.#openToWrite();
    const { txn } = await import('./txn.js');
    const result = await txn(unary, request, options);
    this.#core.lastHeader = result.header;
    return result;
  }

  async holdLease(ttlSeconds: number, handlers: LeaseHandlers, options: CallOptions = {}): Promise<HeldLease> {
    const granted = await grant(await this.#openToWrite(), ttlSeconds, options);
    const lease: BeatingLease = new BeatingLease(this.#open(), granted, handlers, () => this.#leases.delete(lease));
    this.#leases.add(lease);
    return lease;
  }

  async grantLease(ttlSeconds: number, options: CallOptions = {}): Promise<bigint> {
    return (await grant(await this.#openToWrite(), ttlSeconds, options)).id;
  }

  async revokeLease(id: bigint, options: CallOptions = {}): Promise<void> {
    const { unary } = await this.#openToWrite();
    await revoke(unary, id, options);
  }

  async leaseInfo(id: bigint, options: CallOptions = {}): Promise<LeaseInfo> {
    return leaseInfo(this.#open().unary, id, options);
  }

  watch(request: WatchRequest, handlers: WatchHandlers): Watch {
    const watch: Watch = new ResumingWatch(this.#open(), request, handlers, () => this.#watches.delete(watch));
    this.#watches.add(watch);
    return watch;
  }

  /** Of the endpoints that answered. @throws the error of the first when none did. */
  async status(options: CallOptions = {}): Promise<readonly MemberStatus[]> {
    const core = this.#open();
    const answers = await Promise.allSettled(core.balancer.all.map((host) => memberStatus(core, host, options)));
    const members = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (members.length === 0 && failed !== undefined) throw failed.reason;
    return members;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const lease of [...this.#leases]) lease.abandon();
    await Promise.all([...this.#watches].map((watch) => watch.close()));
    this.#leave();
  }

  /** Loads etcd3 before a deadline runs: the time is not the call's. */
  async #openToWrite(): Promise<Core> {
    await import('./thin-clients.js');
    return this.#open();
  }

  #open(): Core {
    if (this.#isClosed) throw new LbctlError('INTERNAL', 'This connection to etcd was closed already');
    return this.#core;
  }
}

async function memberStatus(core: Core, host: Host, options: CallOptions): Promise<MemberStatus> {
  const response = await core.unary.call(
    {
      what: `read the status of ${host.address}`,
      repeat: 'safe',
      leaderless: true,
      only: host,
      run: (link, callOptions) => link.read(status, null, callOptions),
    },
    options,
  );
  return {
    endpoint: urlOf(host.endpoint),
    version: response.version,
    dbSizeBytes: response.dbSizeBytes,
    isLeader: response.leader !== 0n && response.leader === response.header.memberId,
  };
}
