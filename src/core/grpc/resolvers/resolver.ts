import { type ChannelOptions, experimental, Metadata, type StatusObject, status } from '@grpc/grpc-js';
import type { Candidate } from '../../balancer/balancer.js';
import { systemClock } from '../../model/clock.js';
import { type OnApplied, type Spread, withOnApplied } from '../applied.js';
import { type ChannelSettings, resolverSettingsOf } from '../channel-options.js';
import { endpointOf } from '../endpoint.js';
import { parseTarget, serviceNameOf, type Target } from '../target.js';
import { Pusher } from './pusher.js';
import { sameInstances } from './rotation.js';
import type { Source } from './source.js';

type Resolution =
  | { readonly instances: readonly Candidate[]; readonly note: string; readonly onApplied?: OnApplied | undefined }
  | { readonly instances: null; readonly note: string };

/**
 * grpc-js's resolver for one kind of target; `authorityOf` gives the `:authority` of the calls, which is also the name that
 * a server's certificate is checked for. A malformed target makes `new Client(target)` throw. It answers when something has
 * changed, never because it was asked: grpc-js asks again at every answer, which would keep the process busy for ever.
 */
export function resolverOf<T extends Target>(
  sourceOf: (target: T, settings: ChannelSettings) => Source,
  authorityOf: (target: T) => string,
): Parameters<typeof experimental.registerResolver>[1] {
  // grpc-js chooses the resolver by the target's scheme.
  const targetOf = (uri: experimental.GrpcUri) => parseTarget(textOf(uri)) as T;
  return class ChannelResolver implements experimental.Resolver {
    static getDefaultAuthority(uri: experimental.GrpcUri): string {
      return authorityOf(targetOf(uri));
    }

    readonly #listener: experimental.ResolverListener;
    readonly #source: Source;
    readonly #uri: experimental.GrpcUri;
    #close: (() => void) | null = null;
    /** Outlives idleness: what is known keeps serving when the channel wakes up while its source is away. */
    #known: Resolution | null = null;

    constructor(uri: experimental.GrpcUri, listener: experimental.ResolverListener, options: ChannelOptions) {
      this.#uri = uri;
      this.#listener = listener;
      this.#source = sourceOf(targetOf(uri), resolverSettingsOf(options));
    }

    updateResolution(): void {
      if (this.#close !== null) return;
      /** What goes by the last list that was pushed. */
      let spread: Spread | null = null;
      const pusher = new Pusher<Resolution>(
        (resolution) => {
          spread = null;
          this.#push(resolution, (by, isNews) => {
            spread = by;
            by.statistics.identify({ service: serviceNameOf(targetOf(this.#uri)) });
            if (resolution.instances !== null) resolution.onApplied?.(by, isNews);
          });
        },
        sameResolution,
        systemClock,
        (resolution) => {
          // What calls go by already is applied as it comes.
          if (spread !== null && resolution.instances !== null) resolution.onApplied?.(spread, false);
        },
      );
      const close = this.#source.open({
        found: (instances, ifEmpty, onApplied) => {
          this.#known = { instances, note: instances.length === 0 ? ifEmpty : '', onApplied };
          pusher.offer(this.#known);
        },
        failed: (error) => {
          const note = `${textOf(this.#uri)} could not be resolved: ${error.message}`;
          pusher.offer(this.#known ?? { instances: null, note });
        },
      });
      this.#close = () => {
        close();
        pusher.close();
      };
    }

    destroy(): void {
      this.#close?.();
      this.#close = null;
    }

    #push({ instances, note }: Resolution, onApplied: OnApplied): void {
      if (instances !== null) {
        const endpoints = experimental.statusOrFromValue(instances.map(endpointOf));
        this.#listener(endpoints, withOnApplied(onApplied), null, note);
        if (instances.length > 0) return;
      }
      // With an empty list alone grpc-js's own round_robin (1.14) lets calls wait to their deadline; an error fails them now.
      this.#listener(experimental.statusOrFromError(unavailable(note)), {}, null, note);
    }
  };
}

/** grpc-js cuts a target at its first slashes and leaves `?key=…` in the path; put together again nothing is lost. */
const textOf = experimental.uriToString;

function unavailable(details: string): StatusObject {
  return { code: status.UNAVAILABLE, details, metadata: new Metadata() };
}

function sameResolution(a: Resolution, b: Resolution): boolean {
  if (a.instances === null || b.instances === null) return a.instances === b.instances && a.note === b.note;
  return a.note === b.note && sameInstances(a.instances, b.instances);
}
