import { detect } from '../dialects/detect.js';
import { encodeValue, instanceKey, type LayoutOptions, servicePrefixes } from '../dialects/layout.js';
import { prefixRange } from '../etcd/key-text.js';
import type { CallOptions, Compare, Etcd, KeyValue, Operation } from '../etcd/port.js';
import { isLbctlError, LbctlError } from '../model/errors.js';
import type { DialectName, Owner } from '../model/instance.js';
import { decodeMeta, encodeMeta, type MetaRecord, OverlayKeys } from './overlay.js';
import type { Target } from './publisher-machine.js';
import { repeatableTxn } from './txn.js';

/** What a publisher wants to stand in etcd. */
export interface Draft {
  readonly service: string;
  readonly address: string;
  /** Null: the lease id in decimal. */
  readonly id: string | null;
  readonly dialect: DialectName;
  readonly weight: number;
  readonly zone: string;
  readonly version: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly exclusive: boolean;
  readonly owner: Owner;
  readonly layout: LayoutOptions & { readonly overlayRoot?: string };
}

/** What a publisher wrote, or may have written, under one lease. */
export interface Written {
  readonly lease: bigint;
  readonly key: string;
  /** Null when the user may not write lbctl's records. */
  readonly metaKey: string | null;
}

export interface WriteRequest {
  readonly draft: Draft;
  readonly lease: bigint;
  readonly goal: Target;
  /** Earlier leases of the same publisher: what is left of them goes in the same transaction. */
  readonly previous: readonly Written[];
  /** `first`: a key with our id and address is a former life of ours. `repair`: a key that another lease holds is lost. */
  readonly mode: 'first' | 'again' | 'repair';
  /** ISO 8601. */
  readonly now: string;
}

const mostAttempts = 5;
/** Other publishers' registrations that one transaction takes out, two operations each; etcd allows 128. */
const mostEvicted = 50;

export function placeOf(draft: Draft, lease: bigint): { id: string; key: string; metaKey: string } {
  const id = draft.id ?? String(lease);
  const overlay = new OverlayKeys(draft.layout.overlayRoot);
  return {
    id,
    key: instanceKey(draft.dialect, draft.service, id, draft.layout),
    metaKey: overlay.meta(draft.service, id),
  };
}

/**
 * Puts the registration (or, out of rotation, lbctl's record alone) under `lease` in one transaction that also removes
 * what earlier leases left, so that at no revision two keys or none stand there. Safe to repeat.
 * @throws WRITE_CONFLICT when the id belongs to another live owner, or an exclusive publisher took the address.
 */
export async function writeRegistration(etcd: Etcd, request: WriteRequest, call: CallOptions): Promise<Written> {
  try {
    return await write(etcd, request, true, call);
  } catch (error) {
    // Without the right to write lbctl's records a registration is still a good one, only not a managed one.
    if (!isLbctlError(error, 'ETCD_PERMISSION_DENIED')) throw error;
    return write(etcd, request, false, call);
  }
}

async function write(etcd: Etcd, request: WriteRequest, withMeta: boolean, call: CallOptions): Promise<Written> {
  const { draft, lease, goal } = request;
  const { key, metaKey } = placeOf(draft, lease);
  const written: Written = { lease, key, metaKey: withMeta ? metaKey : null };
  const meta: Operation[] = withMeta ? [{ put: metaKey, value: encodeMeta(metaRecord(request)), lease }] : [];
  if (goal.rotation === 'out') {
    await takeOut(etcd, request, written, meta, call);
    return written;
  }
  if (request.mode === 'repair' && withMeta) await refuseIfEvicted(etcd, draft, key, call);
  const others = draft.exclusive ? await sameAddress(etcd, draft, key, withMeta, call) : { compares: [], deletes: [] };
  const operations: Operation[] = [
    { put: key, value: encodedValue(request), lease },
    ...meta,
    ...leftovers(request, written),
    ...others.deletes,
  ];
  let mine: Compare = { key, target: 'create', is: '=', value: 0n };
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const result = await repeatableTxn(etcd, [mine, ...others.compares], operations, [{ get: { key } }], call);
    if (result.succeeded) return written;
    const there = result.results[0]?.kvs[0] ?? null;
    if (there && there.lease === lease) {
      // The first answer was lost, or only lbctl's record went missing.
      if (meta.length > 0) await repeatableTxn(etcd, [], meta, [], call);
      return written;
    }
    if (there && !mayReplace(there, request)) throw taken(there, draft);
    mine = there
      ? { key, target: 'mod', is: '=', value: there.modRevision }
      : { key, target: 'create', is: '=', value: 0n };
  }
  throw new LbctlError(
    'WRITE_CONFLICT',
    `Registering ${draft.address} as ${key} met other writers ${mostAttempts} times`,
  );
}

/** Out of rotation: the key goes and the record comes in one revision. */
async function takeOut(
  etcd: Etcd,
  request: WriteRequest,
  written: Written,
  meta: readonly Operation[],
  call: CallOptions,
): Promise<void> {
  const operations = [...meta, ...leftovers(request, written)];
  const leases = [request.lease, ...request.previous.map((one) => one.lease)];
  if (request.draft.id !== null) {
    // A configured id may be somebody else's by now: only a key on a lease of ours is ours to delete.
    const there = (await etcd.list({ key: written.key }, call)).kvs[0];
    if (there && leases.includes(there.lease)) {
      const same: Compare = { key: written.key, target: 'lease', is: '=', value: there.lease };
      await repeatableTxn(etcd, [same], [{ delete: { key: written.key } }, ...operations], operations, call);
      return;
    }
  }
  if (operations.length > 0) await repeatableTxn(etcd, [], operations, [], call);
}

/** Keys of earlier leases. They carry the lease id in their name, so nobody else's can be among them. */
function leftovers(request: WriteRequest, written: Written): Operation[] {
  if (request.draft.id !== null) return [];
  return request.previous
    .flatMap(({ key, metaKey }) => [key, metaKey])
    .filter((key) => key !== null && key !== written.key && key !== written.metaKey)
    .slice(-20)
    .map((key) => ({ delete: { key: key ?? '' } }));
}

function mayReplace(there: KeyValue, { draft, previous, mode }: WriteRequest): boolean {
  if (previous.some((one) => one.lease === there.lease)) return true;
  // Somebody put our key by hand and so cut it from its lease; left alone it would outlive us.
  if (mode === 'repair') return there.lease === 0n;
  if (draft.exclusive) return true;
  return mode === 'first' && detect(there.value, draft.dialect)?.decoded.address === draft.address;
}

function taken(there: KeyValue, { service, address }: Draft): LbctlError {
  const found = detect(there.value)?.decoded.address;
  const owner = found === address ? `another registration of ${address}` : (found ?? 'another value');
  return new LbctlError(
    'WRITE_CONFLICT',
    `${there.key} belongs to ${owner} (lease ${there.lease}); this one cannot have it`,
    {
      suggestions: [
        `lbctl list ${service} -o wide shows who it is.`,
        'Choose another --id, or --exclusive to take it over.',
      ],
    },
  );
}

async function refuseIfEvicted(etcd: Etcd, draft: Draft, key: string, call: CallOptions): Promise<void> {
  const overlay = new OverlayKeys(draft.layout.overlayRoot);
  const { kvs } = await etcd.list(prefixRange(overlay.metaPrefix(draft.service)), call);
  for (const kv of kvs) {
    const record = decodeMeta(kv.value);
    if (record?.exclusive && record.state === 'up' && record.address === draft.address && record.key !== key) {
      const { host, pid } = record.owner;
      throw new LbctlError(
        'WRITE_CONFLICT',
        `${draft.address} was taken over by an exclusive publisher (${host}, process ${pid})`,
        {
          suggestions: [`lbctl list ${draft.service} -o wide shows it.`],
        },
      );
    }
  }
}

async function sameAddress(
  etcd: Etcd,
  draft: Draft,
  key: string,
  withMeta: boolean,
  call: CallOptions,
): Promise<{ compares: Compare[]; deletes: Operation[] }> {
  const [prefix = ''] = servicePrefixes(draft.service, { ...draft.layout, dialect: draft.dialect });
  const overlay = new OverlayKeys(draft.layout.overlayRoot);
  const { kvs } = await etcd.list(prefixRange(prefix), call);
  const others = kvs
    .filter((kv) => kv.key !== key && detect(kv.value, draft.dialect)?.decoded.address === draft.address)
    .slice(0, mostEvicted);
  const metaKey = (kv: KeyValue) => overlay.meta(draft.service, kv.key.slice(prefix.length));
  return {
    // Gone already is as good; changed since the list is another matter.
    compares: others.map((kv) => ({ key: kv.key, target: 'mod', is: '<', value: kv.modRevision + 1n })),
    deletes: others.flatMap((kv): Operation[] => [
      { delete: { key: kv.key } },
      ...(withMeta ? [{ delete: { key: metaKey(kv) } }] : []),
    ]),
  };
}

function encodedValue({ draft, lease }: WriteRequest): string {
  return encodeValue(draft.dialect, { ...draft, id: placeOf(draft, lease).id });
}

function metaRecord({ draft, lease, goal, now }: WriteRequest): MetaRecord {
  const { address, dialect, weight, zone, version, metadata, owner, exclusive } = draft;
  const out = goal.rotation === 'out' ? goal : null;
  return {
    address,
    dialect,
    key: placeOf(draft, lease).key,
    weight,
    zone,
    version,
    metadata,
    owner,
    state: out ? (out.pauseRevision === null ? 'withdrawn' : 'paused') : 'up',
    pauseRevision: out?.pauseRevision ?? null,
    reason: out?.reason ?? '',
    since: now,
    exclusive,
  };
}
