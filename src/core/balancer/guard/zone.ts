import type { Candidate } from '../balancer.js';

/** The local zone keeps all calls while at least 1/1.4 = 71 % of it is well. Source: Envoy, overprovisioning factor. */
const overprovisioning = 1.4;

/** Who is on which side of the border of the client's zone. An empty zone has no border. */
export class ZonePreference {
  #local: ReadonlySet<string> = new Set();
  #remote: ReadonlySet<string> = new Set();
  readonly #isLocal = (address: string): boolean => this.#local.has(address);
  readonly #isRemote = (address: string): boolean => this.#remote.has(address);

  constructor(private readonly zone: string) {}

  /** Each address once. */
  update(instances: readonly Candidate[]): void {
    const isLocal = (instance: Candidate) => this.zone !== '' && instance.zone === this.zone;
    this.#local = new Set(instances.filter(isLocal).map(({ address }) => address));
    this.#remote = new Set(instances.filter((instance) => !isLocal(instance)).map(({ address }) => address));
  }

  /** There are instances on both sides: calls have a choice. */
  get hasBorder(): boolean {
    return this.#local.size > 0 && this.#remote.size > 0;
  }

  /**
   * The part of the calls, 0 to 1, that stays at home: all while enough of the instances there are well, then what those
   * that are left can take, none when nobody there is well; all again when nobody elsewhere is well either.
   */
  localShare(isWell: (address: string) => boolean): number {
    let wellLocal = 0;
    for (const address of this.#local) if (isWell(address)) wellLocal++;
    const share = Math.min(1, (overprovisioning * wellLocal) / this.#local.size);
    if (share === 1) return share;
    for (const address of this.#remote) if (isWell(address)) return share;
    return 1;
  }

  /** The side that a call is not for. */
  otherSide(isLocalCall: boolean): (address: string) => boolean {
    return isLocalCall ? this.#isRemote : this.#isLocal;
  }
}
