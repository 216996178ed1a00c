import type { V1EndpointSlice } from '@kubernetes/client-node';
import { joinHostPort } from '../dialects/address.js';

/** The EndpointSlices of one service, by name. Immutable. */
export type Slices = ReadonlyMap<string, V1EndpointSlice>;

export interface SliceChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly slice: V1EndpointSlice;
}

/** A pod that takes calls, as a balancer's candidate. */
export interface Pod {
  /** `host:port`, IPv6 in brackets. */
  readonly address: string;
  readonly zone: string;
}

export function slicesOf(items: readonly V1EndpointSlice[]): Slices {
  return new Map(items.map((slice) => [nameOf(slice), slice]));
}

/** A change of one slice leaves the others as they are. */
export function applyChange(slices: Slices, { type, slice }: SliceChange): Slices {
  const next = new Map(slices);
  if (type === 'DELETED') next.delete(nameOf(slice));
  else next.set(nameOf(slice), slice);
  return next;
}

/**
 * The pods of all slices together, each once (Kubernetes may show one in two slices for a while), sorted. `ready` absent
 * counts as ready. A pod that terminates is out even where the service publishes pods that are not ready.
 * @param port a port of the pods, taken as it is. Null: the port of their own slice, the one named `grpc` if there are
 * several. Pods of a slice that names none are left out.
 */
export function podsOf(slices: Slices, port: number | null): readonly Pod[] {
  const pods = new Map<string, Pod>();
  for (const slice of slices.values()) {
    const podPort = port ?? portOf(slice);
    if (podPort === null) continue;
    // An empty list is null on the wire.
    for (const { addresses, conditions, zone } of slice.endpoints ?? []) {
      // Kubernetes gives no meaning to further addresses.
      const host = addresses[0];
      if (host === undefined || conditions?.ready === false || conditions?.terminating === true) continue;
      const address = joinHostPort(host, podPort);
      pods.set(address, { address, zone: zone ?? '' });
    }
  }
  return [...pods.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
}

function portOf(slice: V1EndpointSlice): number | null {
  const ports = (slice.ports ?? []).filter(
    ({ protocol = 'TCP', port }) => protocol === 'TCP' && typeof port === 'number',
  );
  return (ports.find(({ name }) => name === 'grpc') ?? ports[0])?.port ?? null;
}

function nameOf(slice: V1EndpointSlice): string {
  return slice.metadata?.name ?? '';
}
