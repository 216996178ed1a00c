/** Every document of ours carries this; it rises when a field is renamed or removed. */
export const schemaVersion = 1;

/** Valid JSON may hold characters that a terminal acts on (C1 controls, bidi overrides): written as \uXXXX it is the
 * same JSON and harmless. C0 controls and lone surrogates are escaped by JSON.stringify itself. */
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

/** YAML of the same document. Built from the JSON, so that both say the same and the same text is escaped. */
export async function toYaml(value: unknown): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(JSON.parse(JSON.stringify(value, bigintAsText)), {
    lineWidth: 0,
    defaultStringType: 'QUOTE_DOUBLE',
    defaultKeyType: 'PLAIN',
  }).replace(/[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** A document of the JSON contract: `schemaVersion` first. */
export function document<T extends object>(fields: T): { schemaVersion: number } & T {
  return { schemaVersion, ...fields };
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
