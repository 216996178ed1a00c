import { isObject, type JsonObject, parseObject, stringMap, textField, weightOf } from '../dialects/codec.js';
import {
  type DialectName,
  dialectNames,
  type Owner,
  type PauseVerb,
  pauseVerbs,
  type Strategy,
  strategies,
} from '../model/instance.js';

/** Where lbctl keeps its own records; never under a service's prefix, because go-zero clients dial whatever is there. */
export const defaultOverlayRoot = 'lbctl/v1/';

/** Names are escaped so that a service `a/b` and an id `b/…` of a service `a` never meet. Injective. */
export function escapeName(name: string): string {
  return name.replace(/[%/]/g, (character) => (character === '%' ? '%25' : '%2F'));
}

export function unescapeName(text: string): string {
  return text.replace(/%(25|2F)/g, (_, code: string) => (code === '25' ? '%' : '/'));
}

/** The keys of lbctl's own records. */
export class OverlayKeys {
  readonly root: string;

  constructor(root: string = defaultOverlayRoot) {
    this.root = root.endsWith('/') ? root : `${root}/`;
  }

  metaPrefix(service: string): string {
    return `${this.root}meta/${escapeName(service)}/`;
  }

  meta(service: string, id: string): string {
    return this.metaPrefix(service) + escapeName(id);
  }

  pausePrefix(service: string): string {
    return `${this.root}pause/${escapeName(service)}/`;
  }

  pause(service: string, address: string): string {
    return this.pausePrefix(service) + escapeName(address);
  }

  guard(service: string): string {
    return `${this.root}guard/${escapeName(service)}`;
  }

  logPrefix(service: string): string {
    return `${this.root}log/${escapeName(service)}/`;
  }

  /** `number` counts the service's writes from 1 on; the keys sort as the numbers do. */
  logEntry(service: string, number: bigint): string {
    return this.logPrefix(service) + String(number).padStart(12, '0');
  }

  /** Who runs the command of a drain. */
  drain(service: string, address: string): string {
    return `${this.root}drain/${escapeName(service)}/${escapeName(address)}`;
  }

  /** Who rolls the service. */
  rollLock(service: string): string {
    return `${this.root}roll/${escapeName(service)}/lock`;
  }

  /** How far a roll of the service has come. */
  rollState(service: string): string {
    return `${this.root}roll/${escapeName(service)}/state`;
  }

  observersPrefix(service: string): string {
    return `${this.root}observers/${escapeName(service)}/`;
  }

  /** `id` is a client's of the service, not an instance's. */
  observer(service: string, id: string): string {
    return this.observersPrefix(service) + escapeName(id);
  }

  /** The service and last part of a meta or pause key, null for any other key. */
  parse(key: string): { kind: 'meta' | 'pause'; service: string; name: string } | null {
    if (!key.startsWith(this.root)) return null;
    const [kind, service, name, ...rest] = key.slice(this.root.length).split('/');
    if ((kind !== 'meta' && kind !== 'pause') || service === undefined || name === undefined || rest.length > 0) {
      return null;
    }
    return { kind, service: unescapeName(service), name: unescapeName(name) };
  }
}

/**
 * What a publisher of ours says about its instance, on the lease that the instance key has. While it is out of rotation
 * the instance key is gone and this record stays: it proves that the owner lives, and says why it is out.
 */
export interface MetaRecord {
  readonly address: string;
  readonly dialect: DialectName;
  /** The instance key. */
  readonly key: string;
  readonly weight: number;
  readonly zone: string;
  readonly version: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly owner: Owner;
  /** `withdrawn`: taken out by its own process (a failed health check), not by a pause record. */
  readonly state: 'up' | 'paused' | 'withdrawn';
  /** With `paused`: the mod revision of the pause record that it obeys. With `withdrawn`: null. */
  readonly pauseRevision: bigint | null;
  /** With `withdrawn`: why. */
  readonly reason: string;
  /** ISO 8601: since when it is in this state. */
  readonly since: string;
  /** It takes its address for itself: other publishers of ours give way. */
  readonly exclusive: boolean;
}

export interface PauseRecord {
  readonly by: string;
  /** ISO 8601. */
  readonly at: string;
  readonly reason: string;
  readonly strategy: Strategy;
  readonly verb: PauseVerb;
  /** ISO 8601; null: until it is resumed. */
  readonly until: string | null;
  /** What stood there when it was taken out: to show it while it is away, and to put it back. */
  readonly restore: readonly KeptKey[];
}

/** An instance key as it was before it was masked or deleted. */
export interface KeptKey {
  readonly key: string;
  readonly id: string;
  readonly dialect: DialectName | 'unknown';
  readonly value: string;
  /** 0n: permanent. */
  readonly lease: bigint;
}

export function encodeMeta(record: MetaRecord): string {
  const { pauseRevision, ...rest } = record;
  return JSON.stringify({ ...rest, pauseRevision: pauseRevision === null ? null : String(pauseRevision) });
}

export function encodePause(record: PauseRecord): string {
  const restore = record.restore.map((kept) => ({ ...kept, lease: String(kept.lease) }));
  return JSON.stringify({ ...record, restore });
}

/** Null for anything that is not such a record: other tools may write here too. */
export function decodeMeta(value: Uint8Array): MetaRecord | null {
  const object = parseRecord(value);
  const dialect = object && dialectOf(object.dialect);
  if (!object || !dialect || typeof object.address !== 'string' || typeof object.key !== 'string') return null;
  const owner = isObject(object.owner) ? object.owner : {};
  const revision = object.pauseRevision;
  return {
    address: object.address,
    dialect,
    key: object.key,
    weight: weightOf(object.weight) ?? 1,
    zone: textField(object, 'zone') ?? '',
    version: textField(object, 'version') ?? '',
    metadata: stringMap(object.metadata),
    owner: {
      host: textField(owner, 'host') ?? '',
      pid: typeof owner.pid === 'number' ? owner.pid : 0,
      version: textField(owner, 'version') ?? '',
    },
    state: object.state === 'paused' || object.state === 'withdrawn' ? object.state : 'up',
    pauseRevision: typeof revision === 'string' && /^\d{1,19}$/.test(revision) ? BigInt(revision) : null,
    reason: textField(object, 'reason') ?? '',
    since: textField(object, 'since') ?? '',
    exclusive: object.exclusive === true,
  };
}

export function decodePause(value: Uint8Array): PauseRecord | null {
  const object = parseRecord(value);
  if (!object) return null;
  return {
    by: textField(object, 'by') ?? '',
    at: textField(object, 'at') ?? '',
    reason: textField(object, 'reason') ?? '',
    strategy: strategies.find((name) => name === object.strategy) ?? 'managed',
    verb: pauseVerbs.find((name) => name === object.verb) ?? 'pause',
    until: textField(object, 'until') ?? null,
    restore: (Array.isArray(object.restore) ? object.restore : []).flatMap(decodeKept),
  };
}

function decodeKept(value: unknown): KeptKey[] {
  if (!isObject(value) || typeof value.key !== 'string' || typeof value.value !== 'string') return [];
  const lease = typeof value.lease === 'string' && /^-?\d{1,19}$/.test(value.lease) ? BigInt(value.lease) : 0n;
  const dialect = dialectOf(value.dialect) ?? 'unknown';
  return [{ key: value.key, id: textField(value, 'id') ?? '', dialect, value: value.value, lease }];
}

function dialectOf(value: unknown): DialectName | undefined {
  return dialectNames.find((name) => name === value);
}

/** Null for what is not a JSON object. */
export function parseRecord(value: Uint8Array): JsonObject | null {
  return parseObject(Buffer.from(value).toString('utf8'));
}
