import type { DialectName } from '../model/instance.js';
import { field, isObject, type JsonObject, textField } from './codec.js';

/**
 * What stands in the place of an address that was masked: it says what it is in etcdctl, the address can be read back,
 * and a dial of it fails at once, without asking DNS.
 */
export const maskPrefix = 'lbctl-paused:';
/** Where kratos' metadata keeps the endpoints of a masked instance, as JSON text: its metadata are strings. */
export const maskedEndpoints = 'lbctl.paused';

/** The layouts whose clients let go of an instance by its value. A json client would dial whatever stands there. */
export const maskable: ReadonlySet<DialectName> = new Set<DialectName>(['gozero', 'kratos', 'endpoint']);

/**
 * The value that takes an instance out of rotation for clients of its layout. kratos' and etcd's naming clients need theirs
 * to stay well formed: one bad value stops every update of a kratos client, and a naming client ignores it.
 * Null when the layout has none.
 */
export function maskValue(dialect: DialectName, value: string): string | null {
  if (dialect === 'gozero') return maskPrefix + value;
  const object = dialect === 'json' ? null : parseObject(value);
  if (!object) return null;
  if (dialect === 'endpoint') return replaced(object, { Addr: maskPrefix + (textField(object, 'Addr') ?? '') });
  const metadata = field(object, 'metadata');
  const endpoints = JSON.stringify(field(object, 'endpoints') ?? []);
  return replaced(object, {
    endpoints: [],
    metadata: { ...(isObject(metadata) ? metadata : {}), [maskedEndpoints]: endpoints },
  });
}

/** What a mask covers, as far as the mask itself tells: the way back when lbctl's record is lost. Null for no mask. */
export function unmaskValue(dialect: DialectName, value: string): string | null {
  if (dialect === 'gozero') return value.startsWith(maskPrefix) ? value.slice(maskPrefix.length) : null;
  const object = dialect === 'json' ? null : parseObject(value);
  if (!object) return null;
  if (dialect === 'endpoint') {
    const address = textField(object, 'Addr');
    return address?.startsWith(maskPrefix) ? replaced(object, { Addr: address.slice(maskPrefix.length) }) : null;
  }
  const endpoints = coveredEndpoints(object);
  const metadata = field(object, 'metadata');
  if (endpoints === null || !isObject(metadata)) return null;
  const { [maskedEndpoints]: _mask, ...rest } = metadata;
  return replaced(object, { endpoints, metadata: rest });
}

/** The endpoints that a masked kratos record had; null when it is not masked. */
export function coveredEndpoints(record: JsonObject): readonly unknown[] | null {
  const metadata = field(record, 'metadata');
  const kept = isObject(metadata) ? metadata[maskedEndpoints] : undefined;
  const endpoints = field(record, 'endpoints');
  const isOut = endpoints === null || (Array.isArray(endpoints) && endpoints.length === 0);
  if (typeof kept !== 'string' || !isOut) return null;
  try {
    const parsed: unknown = JSON.parse(kept);
    return Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function parseObject(text: string): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** The same record, fields in their order and under the names in any letter case that they had. */
function replaced(object: JsonObject, changes: JsonObject): string {
  const names = Object.keys(changes);
  const left = new Set(names);
  const entries = Object.entries(object).map(([key, value]) => {
    const name = names.find((one) => one === key) ?? names.find((one) => one.toLowerCase() === key.toLowerCase());
    if (name === undefined) return [key, value];
    left.delete(name);
    return [key, changes[name]];
  });
  return JSON.stringify(Object.fromEntries([...entries, ...[...left].map((name) => [name, changes[name]])]));
}
