import { type LayoutOptions, servicePrefixes } from '../dialects/layout.js';
import { prefixRange } from '../etcd/key-text.js';
import type { KeyRange } from '../etcd/port.js';
import { OverlayKeys } from './overlay.js';

/** Where a service is looked for. */
export interface DiscoveryOptions extends LayoutOptions {
  /** The root of lbctl's own records. Default `lbctl/v1/`. */
  readonly overlayRoot?: string;
  /** Read the bare key instead of everything below it. */
  readonly exactMatch?: boolean;
}

export type RangeKind = 'instances' | 'meta' | 'pause';

export interface ServiceRange {
  readonly kind: RangeKind;
  readonly range: KeyRange;
  /** `…/`: what the keys of this range begin with. */
  readonly prefix: string;
}

/** Every range that tells something about a service. All of them go on one watch. */
export function serviceRanges(service: string, options: DiscoveryOptions = {}): readonly ServiceRange[] {
  const overlay = new OverlayKeys(options.overlayRoot);
  const instances: ServiceRange[] = options.exactMatch
    ? [{ kind: 'instances', range: { key: service }, prefix: `${service}/` }]
    : servicePrefixes(service, options).map((prefix) => ({ kind: 'instances', range: prefixRange(prefix), prefix }));
  const [meta, pause] = [overlay.metaPrefix(service), overlay.pausePrefix(service)];
  return [
    ...instances,
    { kind: 'meta', range: prefixRange(meta), prefix: meta },
    { kind: 'pause', range: prefixRange(pause), prefix: pause },
  ];
}

/** The indexes of the ranges without which nothing is known: one of them must be readable. */
export function neededRanges(ranges: readonly ServiceRange[]): readonly number[] {
  return ranges.flatMap((range, index) => (range.kind === 'instances' ? [index] : []));
}

/** For people: what could not be read, and what that costs. */
export function deniedWarnings(ranges: readonly ServiceRange[], denied: readonly boolean[]): readonly string[] {
  return ranges.flatMap(({ kind, prefix }, index) => {
    if (!denied[index]) return [];
    const cost = {
      instances: 'instances registered there are not seen',
      meta: 'weight, zone and owner of instances registered by lbctl are not seen',
      pause: 'pauses are not seen',
    }[kind];
    return [`This etcd user may not read ${prefix}: ${cost}.`];
  });
}
