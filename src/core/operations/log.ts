import { textField } from '../dialects/codec.js';
import { checkServiceName } from '../dialects/layout.js';
import { OverlayKeys, parseRecord } from '../discovery/overlay.js';
import type { DiscoveryOptions } from '../discovery/service-ranges.js';
import { prefixRange } from '../etcd/key-text.js';
import type { CallOptions, Etcd, Operation } from '../etcd/port.js';
import { isLbctlError, LbctlError } from '../model/errors.js';

/** Who did what to which instances, when and why. */
export interface LogEntry {
  /** ISO 8601. */
  readonly at: string;
  /** `user@host`. */
  readonly by: string;
  /** The command: pause, resume, hold, drain, roll. */
  readonly verb: string;
  /** For people: `paused`, `masked again`, `its command ended with 3`. */
  readonly what: string;
  readonly strategy: string;
  readonly addresses: readonly string[];
  readonly reason: string;
}

export interface NumberedEntry extends LogEntry {
  /** Counts the service's entries from 1 on. */
  readonly number: number;
}

/** So many entries are kept of each service: enough for a week of deploys, small enough to be read at once. */
export const keptEntries = 200;
const mostAttempts = 5;

/**
 * What writes the entry that follows `version` writes of the guard key, and drops the oldest. It goes into the
 * transaction of the deed itself, which bumps the guard: none is done without its entry, and no number is taken twice.
 */
export function logOperations(overlay: OverlayKeys, service: string, version: bigint, text: string): Operation[] {
  const number = version + 1n;
  const oldest = number - BigInt(keptEntries) + 1n;
  const put: Operation = { put: overlay.logEntry(service, number), value: text };
  if (oldest <= 1n) return [put];
  return [put, { delete: { key: overlay.logPrefix(service), end: overlay.logEntry(service, oldest) } }];
}

/** `nonce` tells two entries with equal words apart: a lost answer is read back by it. */
export function encodeEntry(entry: LogEntry, nonce: string): string {
  return JSON.stringify({ ...entry, nonce });
}

/** Writes an entry for what goes with no other write (a command failed). @throws ETCD_*, WRITE_CONFLICT. */
export async function appendLog(
  etcd: Etcd,
  service: string,
  entry: LogEntry,
  { overlayRoot, ...call }: DiscoveryOptions & CallOptions = {},
): Promise<void> {
  const overlay = new OverlayKeys(overlayRoot);
  const guardKey = overlay.guard(service);
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const guard = (await etcd.list({ key: guardKey }, call)).kvs[0];
    const done = await etcd.txn(
      {
        compare: [{ key: guardKey, target: 'mod', is: '=', value: guard?.modRevision ?? 0n }],
        success: [
          { put: guardKey, value: entry.verb },
          ...logOperations(overlay, service, guard?.version ?? 0n, encodeEntry(entry, '')),
        ],
      },
      call,
    );
    if (done.succeeded) return;
  }
  throw new LbctlError(
    'WRITE_CONFLICT',
    `Others wrote about ${service} each of ${mostAttempts} times that the log was`,
  );
}

/** The entries of a service, oldest first. @throws USAGE for a name that cannot be; ETCD_*. */
export async function readLog(
  etcd: Etcd,
  service: string,
  { overlayRoot, ...call }: DiscoveryOptions & CallOptions = {},
): Promise<{ readonly revision: bigint; readonly entries: readonly NumberedEntry[] }> {
  checkServiceName(service);
  const prefix = new OverlayKeys(overlayRoot).logPrefix(service);
  const { header, kvs } = await etcd.list(prefixRange(prefix), call).catch((error: unknown) => {
    if (!isLbctlError(error, 'ETCD_PERMISSION_DENIED')) throw error;
    throw new LbctlError(error.code, error.message, {
      cause: error,
      suggestions: [`Let it: etcdctl role grant-permission ROLE --prefix=true read ${prefix}`],
    });
  });
  const entries = kvs.flatMap(({ key, value }) => {
    const entry = decodeEntry(value);
    return entry ? [{ number: Number(key.slice(prefix.length)), ...entry }] : [];
  });
  return { revision: header.revision, entries };
}

function decodeEntry(value: Uint8Array): LogEntry | null {
  const object = parseRecord(value);
  if (!object) return null;
  const text = (name: string) => textField(object, name) ?? '';
  return {
    at: text('at'),
    by: text('by'),
    verb: text('verb'),
    what: text('what'),
    strategy: text('strategy'),
    addresses: Array.isArray(object.addresses) ? object.addresses.map(String) : [],
    reason: text('reason'),
  };
}
