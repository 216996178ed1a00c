import { isUtf8 } from 'node:buffer';
import type { DialectName } from '../model/instance.js';
import type { Codec, Decoded } from './codec.js';
import { endpoint } from './endpoint.js';
import { gozero } from './gozero.js';
import { json } from './json.js';
import { kratos } from './kratos.js';

export const codecs: Readonly<Record<DialectName, Codec>> = { gozero, json, kratos, endpoint };

/** Most specific first: a kratos record could carry an `Addr`, a json one never carries `endpoints` and `name` both. */
const order: readonly Codec[] = [kratos, endpoint, json, gozero];

/** Larger values are not instances in any layout, and parsing a megabyte for each event would stall every reader. */
const maxValueBytes = 64 * 1024;

/** The layout that a value is written in and what it says; null for anything that is no instance. Never throws. */
export function detect(value: Uint8Array, forced?: DialectName): { dialect: DialectName; decoded: Decoded } | null {
  if (value.length === 0 || value.length > maxValueBytes) return null;
  // Ten thousand of these are read at once: a TextDecoder would be most of the cost.
  if (!isUtf8(value)) return null;
  const text = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('utf8');
  const parsed = parseJson(text);
  for (const codec of forced === undefined ? order : [codecs[forced]]) {
    const decoded = codec.decode(text, parsed);
    if (decoded) return { dialect: codec.name, decoded };
  }
  return null;
}

function parseJson(text: string): unknown {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
