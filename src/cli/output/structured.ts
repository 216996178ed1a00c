/** Every document of ours carries this; it rises when a field is renamed or removed. */
export const schemaVersion = 1;

/**
 * What a terminal acts on and JSON allows: DEL, C1 controls, bidi overrides, invisible characters. Written as \uXXXX it
 * is the same JSON. JSON.stringify itself escapes C0 controls and halves of characters.
 */
const unsafeInJson = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** One JSON text. A bigint (int64) becomes a decimal string. */
export function toJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, bigintAsText, indent).replace(unsafeInJson, (character) => {
    let escaped = '';
    for (let index = 0; index < character.length; index++) {
      escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
    }
    return escaped;
  });
}

export function toNdjson(values: readonly unknown[]): string {
  return values.map((value) => `${toJson(value, 0)}\n`).join('');
}

/** YAML of the same document. */
export async function toYaml(value: unknown): Promise<string> {
  const { yamlOfJson } = await import('./yaml.js');
  return yamlOfJson(toJson(value));
}

/** A document of the JSON contract: `schemaVersion` first. */
export function document<T extends object>(fields: T): { schemaVersion: number } & T {
  return { schemaVersion, ...fields };
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
