import type { DialectName } from '../model/instance.js';

/** What a value says about the instance behind it. */
export interface Decoded {
  /** `host:port` as written; empty when the record is well formed and names no gRPC address. */
  readonly address: string;
  /** lbctl overwrote the value to take the instance out of rotation; the address is the one that it covers. */
  readonly masked?: true;
  /** Undefined when the layout or the value does not tell. */
  readonly weight?: number;
  readonly zone?: string;
  readonly version?: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The service that the value claims to belong to (kratos, json). */
  readonly name?: string;
}

/** What a publisher writes. */
export interface Registration {
  readonly service: string;
  readonly id: string;
  readonly address: string;
  readonly weight: number;
  readonly zone: string;
  readonly version: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** One layout's value format. Pure: text in, record out. */
export interface Codec {
  readonly name: DialectName;
  /** Null when the text is not of this layout. `json` is the parsed text, undefined when it is not JSON. */
  decode(text: string, json: unknown): Decoded | null;
  encode(registration: Registration): string;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** JSON that is an object; null for anything else. */
export function parseObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** A number that can be reckoned with; null for anything else. */
export function finiteNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** Scalars as they read, anything nested as JSON: nothing that a registry carried gets lost on the way to a person. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A string map of any object; own keys only, so that `__proto__` in a value is data and nothing else. */
export function stringMap(value: unknown, skip: ReadonlySet<string> = new Set()): Record<string, string> {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, entry]) => entry !== null && entry !== undefined && !skip.has(key.toLowerCase()))
      .map(([key, entry]) => [key, textOf(entry)]),
  );
}

/** A weight as layouts write it: a number, or a string with one. Undefined for anything else, negatives included. */
export function weightOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : undefined;
}

/** The value of the first key that matches in any letter case, as Go's encoding/json reads struct fields. */
export function field(object: JsonObject, name: string): unknown {
  if (Object.hasOwn(object, name)) return object[name];
  const key = Object.keys(object).find((candidate) => candidate.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : object[key];
}

/** A non-empty string, else undefined. */
export function textField(object: JsonObject, name: string): string | undefined {
  const value = field(object, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Drops undefined members, which `exactOptionalPropertyTypes` tells apart from absent ones. */
export function decoded(parts: {
  address: string;
  masked?: boolean;
  weight?: number | undefined;
  zone?: string | undefined;
  version?: string | undefined;
  name?: string | undefined;
  metadata: Record<string, string>;
}): Decoded {
  const { address, masked, weight, zone, version, name, metadata } = parts;
  // Not by spreading: ten thousand values are read at once.
  const told: { -readonly [Field in keyof Decoded]: Decoded[Field] } = { address, metadata };
  if (masked) told.masked = true;
  if (weight !== undefined) told.weight = weight;
  if (zone !== undefined) told.zone = zone;
  if (version !== undefined) told.version = version;
  if (name !== undefined) told.name = name;
  return told;
}
