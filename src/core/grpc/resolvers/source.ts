import type { Candidate } from '../../balancer/balancer.js';
import type { LbctlError } from '../../model/errors.js';
import type { OnApplied } from '../applied.js';

/** What a source of instances tells. */
export interface Sink {
  /**
   * The whole set, every time. `ifEmpty` says where nothing was found, for the calls that fail because of it. `onApplied` is
   * called when calls go by this set, unless another one was found before; only lbctl's policies tell.
   */
  found(instances: readonly Candidate[], ifEmpty: string, onApplied?: OnApplied): void;
  /** It could not be read, and will be tried again. What was found before stays true. */
  failed(error: LbctlError): void;
}

/** Where a target's instances come from: opened when the channel wants them, closed when it is idle or closed. */
export interface Source {
  /** Never calls the sink before it has returned, nor after the function it returns was called. */
  open(sink: Sink): () => void;
}
