import { experimental } from '@grpc/grpc-js';
import type { Candidate } from '../../src/core/balancer/balancer.js';
import { endpointOf } from '../../src/core/grpc/endpoint.js';

/** A list of instances that a test changes by hand, and the resolver of grpc-js that hands it to channels. */
export class ManualList {
  static readonly #all = new Map<string, ManualList>();
  readonly target: string;
  /** How often channels asked for a new list. */
  asked = 0;
  readonly #listeners = new Set<() => void>();
  #endpoints: experimental.Endpoint[];

  constructor(instances: readonly Candidate[]) {
    experimental.registerResolver('manual', ManualResolver);
    this.target = `manual:///${ManualList.#all.size}`;
    ManualList.#all.set(this.target.slice('manual:///'.length), this);
    this.#endpoints = instances.map(endpointOf);
  }

  static at(path: string): ManualList {
    const list = ManualList.#all.get(path);
    if (list === undefined) throw new Error(`no manual list ${path}`);
    return list;
  }

  get endpoints(): experimental.Endpoint[] {
    return this.#endpoints;
  }

  push(instances: readonly Candidate[]): void {
    this.pushEndpoints(instances.map(endpointOf));
  }

  pushEndpoints(endpoints: experimental.Endpoint[]): void {
    this.#endpoints = endpoints;
    for (const listener of this.#listeners) listener();
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

class ManualResolver implements experimental.Resolver {
  readonly #list: ManualList;
  readonly #listener: experimental.ResolverListener;
  #stop: (() => void) | undefined;

  constructor(target: experimental.GrpcUri, listener: experimental.ResolverListener) {
    this.#list = ManualList.at(target.path);
    this.#listener = listener;
  }

  static getDefaultAuthority(): string {
    return 'localhost';
  }

  updateResolution(): void {
    this.#list.asked++;
    if (this.#stop !== undefined) return;
    this.#stop = this.#list.listen(() => this.#push());
    setImmediate(() => this.#push());
  }

  destroy(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  #push(): void {
    if (this.#stop !== undefined) {
      this.#listener(experimental.statusOrFromValue(this.#list.endpoints), {}, null, '');
    }
  }
}
